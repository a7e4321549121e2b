/* Where the answer of a command goes: text, JSON, or a table. */
#ifndef HEAPDUMP_ANSWER_H
#define HEAPDUMP_ANSWER_H

#include "../shell/shell.h"

/* What a command answers, as text or JSON. */
typedef struct answer {
    const arguments *a;
    output output;
    FILE *text, *pager;          /* pager: NULL, or where the text goes */
    FILE *rows;                  /* --csv: where the JSON goes, */
    char *rows_text;             /* which becomes this */
    size_t rows_size;
    hd_json json;
    int open;                    /* of the object and the list of answer_open: what has not ended */
} answer;

/* JSON is {"heapdump":VERSION,"command":...,"files":[...],"LIST":[ what is written next ]}, or where `list` is NULL
   what is written next are members of that. */
int answer_open(answer *r, const arguments *a, const char *list);
/* Ends the list, for what is to stand beside it. */
void answer_end_list(answer *r);
/* Leaves no file behind when the status is not DONE. Returns that, or BAD_INPUT when writing failed. */
int answer_close(answer *r, int status);

#endif
