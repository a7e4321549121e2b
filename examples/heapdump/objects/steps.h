/* Chains of objects from a root as a programmer knows them: variables, properties and classes. */
#ifndef HEAPDUMP_STEPS_H
#define HEAPDUMP_STEPS_H

#include "instances.h"

/* How well a programmer knows the name of a reference, least known first. */
typedef enum known { UNNAMED, OF_ENGINE, ELEMENT, PROPERTY, VARIABLE } known;

/* The label of a reference in a step: "cache", or "[]" for elements and entries of tables. */
typedef struct step_label {
    known known;
    hd_str name;                 /* borrowed */
} step_label;

/* One shown step: "cache: Map", "[] Session", "head: list of 100 Node". */
typedef struct step {
    char *text;
    uint32_t object;             /* the shown object; for a list the first element */
    uint32_t last;               /* for a list the last element; else the shown object */
    uint32_t folded;             /* number of engine objects folded into the step */
    uint32_t elements;           /* length of a list; HD_NONE: a tree; 0: neither */
    known known;
} step;

typedef struct steps {
    step *list;                  /* the root's step first */
    uint32_t count;
    bool rooted;                 /* the first step is a root */
} steps;

/* An object of a chain with the reference that leads to it. */
typedef struct chain_link {
    uint32_t object;
    uint32_t holder, reference;  /* holder HD_NONE: `reference` is the number of a root */
    uint32_t ephemeron;          /* if reference is HD_NONE: the ephemeron with the holder as its key; else HD_NONE */
    unsigned flags;
    uint32_t head;               /* with LINK_LIST: the first element of the list */
    uint32_t elements;           /* with LINK_LIST: length of the list, also beyond the chain; HD_NONE: a tree */
} chain_link;

enum {
    LINK_ANY_FIELD = 1,          /* the link stands for the entries of a table: "[]" */
    LINK_ANY_NAME = 2,           /* the link stands for several names: a closure is shown by its class */
    LINK_SHOWN = 4,              /* never folded away */
    LINK_NO_FIELD = 16,          /* the link stands for several fields: no label */
    LINK_LIST = 8,               /* a later element of a list: two elements make a list */
    LINK_ANY_ROOT = 64,          /* the first link stands for several roots: only their kind is shown */
    LINK_ONE = 32                /* the link stands for this object only: a collection has its number of elements */
};

bool begins_with(hd_str text, const char *start);
/* Whether a class is of Java's library. */
bool is_of_java(hd_str class_name);
/* Whether an object belongs to the engine: hidden, code, array, synthetic, "system / ...". V8 only. */
bool is_of_engine(const objects *o, uint32_t object);
bool is_synthetic(const objects *o, uint32_t object);
/* Number of the first strong reference from one object to another; HD_NONE: it has no strong reference to it. */
uint32_t reference_between(const objects *o, uint32_t holder, uint32_t object);
step_label label_of(const objects *o, uint32_t holder, uint32_t reference);
/* An object without its label: "Map", "onDone()", "(Stack roots)". Cut to `most` bytes unless that is 0. The caller
   frees it. */
char *object_text(const objects *o, uint32_t object, size_t most);

/* The steps of a chain, the root first; the last object is always shown. Names are cut to `most` bytes unless that is
   0. */
steps steps_of_links(const objects *o, const chain_link *links, uint32_t count, size_t most);
steps steps_of_path(const objects *o, const hd_path *path, size_t most);
/* The shortest path to an object, cut to its last `count` objects unless that is HD_NONE. */
steps steps_of_way(const objects *o, const ways *w, uint32_t object, uint32_t count, size_t most);
void steps_free(steps *s);

/* "global › cache: Map › [] Session", shortened to `columns` unless that is 0. The caller frees it. */
char *steps_text(const steps *s, int columns);
/* One step, cut to `columns` unless that is 0; the length of a list stays. The caller frees it. */
char *step_within(hd_str text, int columns);
/* Columns for steps_text: 0 with --wide, --all, JSON, and output that is not a terminal. */
int steps_columns(const arguments *a, int otherwise);
/* Bytes for a name in a step: 0 if steps_columns is 0. */
size_t steps_name(const arguments *a, size_t otherwise);
/* An array of texts. */
void steps_json(hd_json *j, const char *key, const steps *s);

/* brief_steps.c: texts of a chain. A text with columns 0 is omitted. */
typedef struct brief_steps {
    hd_str **names;              /* owned; NULL: the mark "… 3 more" before it stands for it, too */
    known *known;
    int *columns;
    uint32_t count;
    bool rooted;                 /* the first text is a root: it is omitted last but one */
    bool brief;                  /* "… 3" instead of "… 3 more" */
} brief_steps;
/* Shortens a chain until it fits: omits the least known names first, then the classes behind names. */
void steps_shorten(brief_steps *c, int room);

#endif
