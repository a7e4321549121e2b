/* What Dart's snapshots tell beside who holds whom: values, strings, lengths of lists, libraries, and which
   object of one snapshot is which of another. */
#ifndef HEAPDUMP_DART_H
#define HEAPDUMP_DART_H

#include "../heaps/heaps.h"

/* A pair of snapshots that tell which object is which, object by object. */
typedef struct identity_pair {
    const hd_graph *graph[2];
    const hd_dart *side[2];      /* NULL: ids tell it */
    const uint8_t *const *reached; /* --live: what a root holds of both; NULL: all is compared */
    hd_identity_change *change;
} identity_pair;

/* dart_values.c */
bool is_string(uint32_t tag);
uint64_t units_of(const hd_dart_value *data);
void put_value(FILE *out, const hd_dart_value *data, size_t most);
/* What is quoted there, or spelled; empty for what has no data. To be freed. */
hd_str value_text(const hd_dart_value *data);
void json_value(hd_json *j, const hd_dart_value *data, size_t most);
/* dart_info.c */
int dart_info_text(const arguments *a, const char *file, FILE *out, const hd_dump *dump);
int dart_info_json(const char *file, hd_json *j, const hd_dump *dump);

/* identity.c */
void identity_text(const arguments *a, FILE *out, const identity_pair *p);
void identity_json(const arguments *a, hd_json *j, const identity_pair *p);
/* p->change is NULL when ids or codes do not say which object is which; one line tells why. */
int identity_open(const arguments *a, const hd_dump *before, const hd_dump *after, const uint8_t *const *reached,
                  identity_pair *p);
/* The same for these two files. NULL, and no line: not two snapshots of V8 or of Dart. */
int identity_of(const char *const file[2], const hd_dump *before, const hd_dump *after, const uint8_t *const *reached,
                hd_identity_change **change);

#endif
