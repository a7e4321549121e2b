/* Facts of Dart snapshots besides references: values, strings, lengths of lists, libraries, and the same objects in
   two snapshots. */
#ifndef HEAPDUMP_DART_H
#define HEAPDUMP_DART_H

#include "../heaps/heaps.h"

/* A pair of snapshots with object identity: by id or by Dart identity hash code. */
typedef struct identity_pair {
    const hd_graph *graph[2];
    const hd_dart *side[2];      /* NULL: objects pair by id */
    const uint8_t *const *reached; /* --live: the objects that roots of each hold; NULL: compare all */
    hd_identity_change *change;
} identity_pair;

/* dart_values.c */
bool is_string(uint32_t tag);
uint64_t units_of(const hd_dart_value *data);
void put_value(FILE *out, const hd_dart_value *data, size_t most);
/* The text of a quoted or spelled value; empty if there is no data. The caller frees it. */
hd_str value_text(const hd_dart_value *data);
void json_value(hd_json *j, const hd_dart_value *data, size_t most);
/* dart_info.c */
int dart_info_text(const arguments *a, const char *file, FILE *out, const hd_dump *dump);
int dart_info_json(const char *file, hd_json *j, const hd_dump *dump);

/* identity.c */
void identity_text(const arguments *a, FILE *out, const identity_pair *p);
void identity_json(const arguments *a, hd_json *j, const identity_pair *p);
/* p->change is NULL if ids or codes do not identify objects; a message gives the reason. Returns an exit status. */
int identity_open(const arguments *a, const hd_dump *before, const hd_dump *after, const uint8_t *const *reached,
                  identity_pair *p);
/* The same for these two files. NULL without a message: not two snapshots of V8 or of Dart. */
int identity_of(const char *const file[2], const hd_dump *before, const hd_dump *after, const uint8_t *const *reached,
                hd_identity_change **change);

#endif
