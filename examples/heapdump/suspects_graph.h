/* What the files suspects_graph.c, suspects_piles.c, suspects_growth.c and suspects_classes.c share. */
#ifndef HEAPDUMP_SUSPECTS_GRAPH_H
#define HEAPDUMP_SUSPECTS_GRAPH_H

#include "steps.h"
#include "suspects.h"

/* Whose an object is. Those before OF_ENGINE make a suspect. */
typedef enum role {
    OF_PROGRAM,
    SCOPE,                       /* a context: the variables that a closure keeps */
    DATA,                        /* what another object is made of: text, the bytes of a Buffer */
    TABLE,                       /* elements and tables of the engine */
    MACHINE,                     /* code, maps, feedback */
    ROOTS                        /* synthetic */
} role;

/* A snapshot, with its dominators and shortest ways, and by object: */
typedef struct shot {
    objects o;
    ways ways;
    uint8_t *role;
    uint32_t *class_of;
    const char **closure;        /* its name; of others NULL */
    const char **label;          /* by which its holder on the shortest way holds it; of a reference the name */
    uint32_t *heaviest;          /* the child in the dominator tree that retains most; HD_NONE: none */
} shot;

/* Objects that something piles up in. */
typedef struct pile {
    uint32_t object;             /* of the last snapshot: the program's own object that is shown */
    uint32_t point;              /* below it or the same: where it fans out, or the first element of a list */
    uint32_t elements;           /* of the list; else 0 */
    double bytes;                /* that it explains */
    double shared;               /* of these, in objects that others hold too, so that it does not retain them */
    uint32_t owner;              /* as in matched.owner; HD_NONE: no object is */
    hd_str variable;             /* of its object, by which what is new is held; empty: any */
    trend trend;                 /* of several snapshots */
    bool engine;                 /* no object of the program has these bytes */
} pile;

enum { MOST_PILES = 6, MOST_CLASSES = 6, MOST_BELOW = 4, MOST_NAME = 60 };

/* A class of objects below a pile. */
typedef struct below {
    uint32_t class_index;
    uint64_t objects;
    hd_str name;                 /* that most of them have beside it: of V8 a function's */
} below;

typedef struct class_suspect {
    uint32_t class_index;        /* of the last snapshot */
    hd_class_row last;
    trend trend;                 /* of live bytes */
    double grown_objects;
    bool engine;                 /* all its objects are the engine's */
} class_suspect;

/* By object of the last snapshot, its number in each of `count`: ids[object * count + shot]; HD_NONE if it is not in all
   of them. NULL: one snapshot, or they do not tell which object is which. */
typedef struct matched {
    const shot *shots;
    uint32_t count;
    uint32_t *ids;
    uint32_t *owner;             /* by object of the last: the pile that it is of, beside those below its object */
} matched;

/* A variable or property of an old object that is in all snapshots, with a new value. */
typedef struct variable {
    uint32_t scope, value;       /* objects of the last snapshot */
    hd_str name;
} variable;

/* Owners of new objects, numbered: old objects of the last snapshot by their numbers, behind `count` the variables. */
typedef struct owners {
    const matched *m;
    uint32_t count;              /* objects of the last snapshot, by which: */
    uint8_t *kept;               /* it is old */
    uint32_t *user;              /* the old object that it, if it is old, counts for */
    uint32_t *first;             /* list_firsts */
    uint32_t *first_variable;    /* its variables begin there; HD_NONE: it has none */
    variable *variables;         /* in the order of scopes */
    uint32_t variable_count;
} owners;

/* suspects_lists.c */
/* One class after the other by one field, along the dominator tree: a linked list, or with a period a chain of closures
   and their scopes. */
typedef struct chain {
    struct chain_part {
        uint32_t object;
        hd_str field;            /* by which the part before it holds it; empty: it does not, or is none */
    } *part;                     /* to be freed */
    uint32_t count, period, elements;
} chain;
/* False: none begins here. */
bool chain_from(const shot *s, uint32_t object, chain *c);
/* Which of its references leads from an object to one; HD_NONE: none. */
uint32_t reference_to(const shot *s, uint32_t from, uint32_t to);
/* By object, the first element of the list that it is in, in the dominator tree; HD_NONE: it is in none. */
uint32_t *list_firsts(const shot *s);
/* By object, the first element of the list that the shortest way to it goes along at last; else itself. */
uint32_t *way_heads(const shot *s);

/* suspects_piles.c */
bool is_user(const shot *s, uint32_t object);
void put_pile_in(pile *piles, uint32_t *n, pile one);
uint32_t find_piles(matched *m, pile *piles);
/* Goes on from an object to where what it holds fans out. */
void find_point(const shot *s, uint32_t object, uint32_t *point, uint32_t *elements);
/* The way to a pile's object, and from there on to its point; a list is one step. */
steps steps_to(const shot *s, const pile *p, size_t most);
steps steps_within(const shot *s, const pile *p, size_t most);
/* The global object, which holds what every program has. */
bool is_global(const shot *s, uint32_t object);

/* suspects_growth.c */
uint64_t *step_times(uint32_t count);
uint32_t find_growing(matched *m, pile *piles);

/* suspects_owners.c */
void owners_open(const matched *m, owners *w);
void owners_free(owners *w);
/* By object of a snapshot its owner; HD_NONE: none. */
uint32_t *owners_in(const owners *w, uint32_t t);
bool is_user_owner(const owners *w, uint32_t owner);

/* suspects_classes.c */
int find_classes(const arguments *a, const matched *m, class_suspect *found, uint32_t *n);
/* What holds all objects of a class, or all that are new: the way that more than half of `all` share, up to the
   objects themselves. */
steps common_way(const matched *m, uint32_t class_index, uint32_t *all, uint32_t *sharing);
/* Those that its object retains, but for old objects and what these retain; or its own in matched.owner. */
uint32_t classes_below(const matched *m, const pile *p, bool own, below found[MOST_BELOW]);
/* Whether an object of the last snapshot was in all before. */
static inline bool is_old(const matched *m, uint32_t object) {
    return m->ids && m->ids[(size_t)object * m->count] != HD_NONE;
}

#endif
