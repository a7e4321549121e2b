/* Chains of objects from a root as a programmer knows them: variables, properties and classes. */
#ifndef HEAPDUMP_STEPS_H
#define HEAPDUMP_STEPS_H

#include "instances.h"

/* How well a programmer knows the name of a reference, least first. */
typedef enum known { UNNAMED, OF_ENGINE, ELEMENT, PROPERTY, VARIABLE } known;

/* A reference as a step shows it: "cache", or "[]" for elements and entries of tables. */
typedef struct step_label {
    known known;
    hd_str name;                 /* borrowed */
} step_label;

/* One shown step: "cache: Map", "[] Session", "head: list of 100 Node". */
typedef struct step {
    char *text;
    uint32_t object;             /* the shown one; of a list the first */
    uint32_t last;               /* of a list the last; else the shown one */
    uint32_t folded;             /* objects of the file that the step stands for, the shown one included */
    uint32_t elements;           /* of a list; else 0 */
    known known;
} step;

typedef struct steps {
    step *list;                  /* the root's first */
    uint32_t count;
} steps;

/* An object of a chain, and what leads to it. */
typedef struct chain_link {
    uint32_t object;
    uint32_t holder, reference;  /* this reference of the holder; holder HD_NONE: the root of that number */
    uint32_t ephemeron;          /* reference HD_NONE: the ephemeron whose key holds it; HD_NONE: not known */
    unsigned flags;
} chain_link;

enum {
    LINK_ANY_FIELD = 1,          /* the link stands for others too, by other fields: "[]" */
    LINK_ANY_NAME = 2,           /* ... with other names: a closure by its class */
    LINK_SHOWN = 4,              /* never folded away */
    LINK_LIST = 8                /* a later element of a list, of which two are enough */
};

/* Whether an object is the engine's own: hidden, code, array, synthetic, "system / ...". False but for V8. */
bool is_of_engine(const objects *o, uint32_t object);
step_label label_of(const objects *o, uint32_t holder, uint32_t reference);
/* "Map", "onDone()", "(Stack roots)": an object without the reference to it, in at most so many bytes; 0: any number.
   To be freed. */
char *object_text(const objects *o, uint32_t object, size_t most);

/* Links of a chain, the root's first, as steps; names have at most so many bytes. The last object is always shown. To be
   freed with steps_free. */
steps steps_of_links(const objects *o, const chain_link *links, uint32_t count, size_t most);
steps steps_of_path(const objects *o, const hd_path *path, size_t most);
/* The shortest way to an object; only its last `count` objects, HD_NONE: all. */
steps steps_of_way(const objects *o, const ways *w, uint32_t object, uint32_t count, size_t most);
void steps_free(steps *s);

/* "global › cache: Map › [] Session", without the last so many steps. In at most so many columns, steps with names kept
   longest; 0: whole. To be freed. */
char *steps_text(const steps *s, uint32_t without, int columns);
/* The columns for that: 0 for --wide, --all and what is no terminal. */
int steps_columns(const arguments *a, int otherwise);
/* The same as an array of texts. */
void steps_json(hd_json *j, const char *key, const steps *s, uint32_t without);

#endif
