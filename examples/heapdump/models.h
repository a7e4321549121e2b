/* Commands for several models. */
#ifndef HEAPDUMP_MODELS_H
#define HEAPDUMP_MODELS_H

#include "shell/shell.h"

int run_convert(const arguments *a);
void written_defaults(arguments *a);
int run_merge(const arguments *a);
void diff_defaults(arguments *a);
int run_diff(const arguments *a);
int run_info(const arguments *a);
void suspects_defaults(arguments *a);
int run_suspects(const arguments *a);

#endif
