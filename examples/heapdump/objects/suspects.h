/* Declarations shared by the files of suspects that read object graphs: suspects.c, _piles, _paths, _lists,
   _growth, _spread, _owners, _classes and _class_ways. */
#ifndef HEAPDUMP_SUSPECTS_GRAPH_H
#define HEAPDUMP_SUSPECTS_GRAPH_H

#include "origins.h"
#include "objects.h"
#include "../heaps/heaps.h"

/* The part that an object plays. Objects of the program and scopes make a suspect. */
typedef enum role {
    OF_PROGRAM,
    SCOPE,                       /* a context: the variables that a closure keeps */
    DATA,                        /* text, numbers, the bytes of a Buffer */
    TABLE,                       /* elements of arrays, tables of Maps */
    MACHINE,                     /* code, maps, feedback */
    ROOTS                        /* synthetic */
} role;

/* A snapshot with dominators and shortest paths. Columns are by object; the columns after class_of exist only in the
   last snapshot. */
typedef struct shot {
    objects o;
    ways ways;
    uint32_t *java;              /* by class: first class of that name; NULL: no heap dump of a JVM */
    uint8_t *role;
    uint32_t *class_of;
    const char **closure;        /* name of a closure; else NULL */
    uint8_t *named;              /* by class: 1 if its objects have names, as threads of HPROF have; else how many of
                                    them were tried, plus 1 */
    const char **label;          /* name of the reference to it on the shortest path; equal names are one pointer */
    uint32_t *heaviest;          /* the child in the dominator tree that retains most; HD_NONE: none */
    uint32_t *period;            /* of the list that begins here, along the heaviest children; 0: none */
    uint32_t *distance;          /* steps from the root */
    uint32_t *head;              /* first element of the list at the end of the shortest path; itself: no list */
    uint32_t *length;            /* periods of the list with this head, as far as shortest paths follow it */
    uint32_t *whole;             /* list_whole if it was computed; else 0 */
    struct list_lengths *lengths;
} shot;

/* A suspect: an object that holds many bytes, or more bytes than before. */
typedef struct pile {
    uint32_t object;             /* the shown object, of the last snapshot */
    uint32_t point;              /* the object below it, or itself, that fans out; or the first element of a list */
    uint32_t elements;           /* length of that list; 0: no list */
    double bytes;                /* bytes that the suspect explains */
    double shared;               /* bytes, or growth, in objects that have other holders too; not retained */
    /* number of owners below it that grew, though no single one explains the growth; 0: it is the owner itself */
    uint32_t spread;
    uint32_t owner;              /* value of matched.owner for its objects; HD_NONE: none */
    hd_str variable;             /* the object is its value in the last snapshot; empty: no variable */
    uint32_t scope;              /* the object with the variable */
    trend trend;                 /* growth over several snapshots */
    bool engine;                 /* the bytes belong to the engine, not to an object of the program */
    uint32_t group;              /* that many objects of its class are the suspect, itself the largest; 0: no group */
} pile;

/* The walk down to the point where an object fans out goes on to a child with more than this share of the bytes. */
#define MOST_OF_IT 0.7

enum { MOST_PILES = 6, MOST_CLASSES = 6, MOST_BELOW = 4, MOST_NAME = 60 };

/* A class of objects below a suspect. */
typedef struct below {
    uint32_t class_index;
    uint64_t objects;
    hd_str name;                 /* name of most objects, a function's for example; empty: none */
    uint64_t named;              /* objects with this name */
} below;

typedef struct class_suspect {
    uint32_t class_index;        /* of the last snapshot */
    hd_class_row last;
    trend trend;                 /* of live bytes; the score is for retained bytes */
    double grown_objects, grown_retained;
    bool engine;                 /* all its objects belong to the engine */
    bool explained;              /* vague: a class of the program retains at least half as much */
} class_suspect;

/* Classes that grew from the first to the last snapshot, listed ones included. */
typedef struct grown_classes {
    uint32_t classes;
    double growth;               /* of their live bytes */
} grown_classes;

/* Snapshots of one process. ids[object * count + t] is the number in snapshot t of an object of the last snapshot;
   HD_NONE: not in snapshot t. ids is NULL for one snapshot, and if ids do not identify objects. */
typedef struct matched {
    const shot *shots;
    uint32_t count;
    uint32_t *ids;
    uint8_t *came;               /* with several snapshots but no ids, by object of the last one: see came_by_way */
    uint32_t *owner;             /* by object of the last snapshot: pile.owner; NULL: not known */
    /* with ids: the last snapshot, if it is of Dart; its lists and closures have no code */
    const hd_dart *dart;
    const origins *from;         /* of the last snapshot */
} matched;

/* A variable with a new value; its scope and the variable are in all snapshots. */
typedef struct variable {
    uint32_t scope, value;       /* objects, of the last snapshot */
    hd_str name;
} variable;

/* Owners of new objects. An owner below `count` is an old object of the last snapshot; count + v is variable v. */
typedef struct owners {
    const matched *m;
    uint32_t count;              /* objects of the last snapshot; the columns are by object: */
    uint8_t *kept;               /* old: in all snapshots, and alive in all */
    uint32_t *user;              /* owner that an old object counts for */
    uint32_t *first;             /* list_firsts */
    uint32_t *first_variable;    /* index of its first variable; HD_NONE: no variable */
    variable *variables;         /* sorted by scope */
    uint32_t variable_count;
} owners;

/* suspects_lists.c */
/* Objects of one class that hold each other by one field, along the dominator tree: a linked list. With a period, a
   few classes alternate: objects, closures and their scopes. */
typedef struct chain {
    struct chain_part {
        uint32_t object;
        hd_str field;            /* field of the part before that holds this one; empty: none */
    } *part;                     /* freed by the caller */
    uint32_t count, period, elements;
} chain;
/* Finds the list that begins with an object; false: no list begins there. */
bool chain_from(const shot *s, uint32_t object, chain *c);
/* The same with chain_whole: 0: no list, or the object only leads to one. */
uint32_t whole_chain_from(const shot *s, uint32_t object, chain *c);
/* By object: first element of its list in the dominator tree; HD_NONE: not in a list. Freed by the caller. */
uint32_t *list_firsts(const shot *s);
/* Elements of a whole list: the objects that its fields lead to one after another, whichever path leads to them. All
   of a list in a ring. HD_NONE: references without names make it a tree. `object`: an element of the list on its
   path. */
uint32_t list_whole(const shot *s, uint32_t object);
uint32_t chain_whole(const shot *s, const chain *c);
/* shot.period; shot.head and shot.length. */
uint32_t *list_periods(const shot *s);
uint32_t *way_heads(const shot *s, uint32_t **length);

/* suspects_piles.c */
/* Whether an object can be a suspect. */
bool is_user(const shot *s, uint32_t object);
/* Inserts a suspect into a sorted list of at most MOST_PILES. */
void put_pile_in(pile *piles, uint32_t *n, pile one);
uint32_t find_piles(matched *m, pile *piles);
/* Whether an object is a root that holds nearly everything, and is no suspect for it. */
bool is_pseudo_root(const shot *s, uint32_t object);
/* Whether the children of an object are unrelated: variables of a module, builtins, roots. */
bool is_loose(const shot *s, uint32_t object);
/* Whether an object is the global object, which holds the builtins of every program. */
bool is_global(const shot *s, uint32_t object);
/* Node's own: its `process`, and tables of its modules and of the classes of its errors. */
bool is_of_node(const shot *s, uint32_t object);

/* suspects_java.c */
/* By class; freed by the caller. Several class loaders may have loaded classes of one name. */
role *roles_of_java(const objects *o);
uint32_t *names_of_java(const objects *o);
/* Puts objects of one class first that together retain more than each suspect, and are below no suspect: objects of
   a class of the program, or local variables. Drops suspects below these objects. Returns the number of suspects. */
uint32_t find_group(const shot *s, pile *piles, uint32_t n);

/* suspects_paths.c: the path from a root to a suspect's object, and the path from there to its point. */
steps steps_to(const shot *s, const pile *p, size_t most);
steps steps_within(const shot *s, const pile *p, size_t most);

/* suspects.c: whether an object is Chromium's own: layouts of nodes, tables of listeners. */
bool is_of_browser(const shot *s, uint32_t object);
/* A line "what way rest". On a terminal the steps are shortened to leave room for the rest. */
void put_way(FILE *out, const arguments *a, const char *what, const steps *way, const char *rest);

/* suspects_origins.c: source and allocating function, of a suspect and of most objects of a class. */
typedef struct class_origin {
    hd_v8_place place;
    bool allocated;              /* place: the function that allocated, else the source */
    uint32_t objects, all;       /* objects from there, of all */
} class_origin;
void put_pile_origin(FILE *out, const matched *m, const pile *p);
void put_class_origin(FILE *out, const matched *m, uint32_t class_index);
void json_class_origin(hd_json *j, const matched *m, uint32_t class_index);

/* suspects_growth.c */
/* Bytes of an object of the last snapshot that are new since the first one. */
double fresh_bytes(const matched *m, uint32_t object);
uint64_t *step_times(uint32_t count);
uint32_t find_growing(matched *m, pile *piles);

/* suspects_class_ways.c */
/* The path to most objects of a class. With several snapshots, only new objects count; else objects that grew. */
typedef struct class_way {
    steps way;                   /* no steps: no object holds most of them */
    bool to_holder;              /* no common path: it leads to the nearest object above most of them */
    uint32_t sharing, all;       /* number of objects behind the path, and of all */
    const char *which;           /* with several snapshots, which objects count: "the new " */
} class_way;
class_way way_of_class(const matched *m, uint32_t class_index, size_t most);
enum { CAME_NOT, CAME, CAME_LARGER };
/* For snapshots without common ids, by object of the last one: which objects came. If more objects than in the first
   snapshot have a path, the excess came. If their number is no higher but they have more bytes, they are larger. The
   caller frees it. */
uint8_t *came_by_way(const matched *m);

/* suspects_owners.c */
void owners_open(const matched *m, owners *w);
void owners_free(owners *w);
/* By object of snapshot t: its owner; HD_NONE: none. Freed by the caller. */
uint32_t *owners_in(const owners *w, uint32_t t);
bool is_user_owner(const owners *w, uint32_t owner);

/* suspects_spread.c */
/* Growth that many owners share, each with little of it. */
typedef struct spread {
    uint32_t holder;             /* object that dominates them */
    uint32_t number;             /* how many they are */
    double fresh;                /* new bytes below it */
} spread;
enum { MOST_SPREAD = 10 };
/* Finds it by the growth of each owner. */
uint32_t find_spread(const owners *w, const double *growth, spread found[MOST_SPREAD]);
/* Whether an object is the holder or below it, in the last snapshot. */
bool spread_has(const matched *m, uint32_t holder, uint32_t object);

/* suspects_classes.c */
int find_classes(const arguments *a, const matched *m, class_suspect *found, uint32_t *n, grown_classes *all);
/* The path that more than half of n objects share; no steps if there is no such path. *sharing: number of objects
   that share it. The `more` objects at the end of the list do not count, but lists on the path extend to them. */
steps common_way(const shot *s, const uint32_t *list, uint32_t n, uint32_t more, size_t most, uint32_t *sharing);
/* Classes with most bytes below a suspect's object, without old objects and their subtrees; `own`: only objects that
   matched.owner gives to the suspect. */
uint32_t classes_below(const matched *m, const pile *p, bool own, below found[MOST_BELOW]);
/* Whether an object of the last snapshot is in the first one too. */
static inline bool is_old(const matched *m, uint32_t object) {
    return m->ids && m->ids[(size_t)object * m->count] != HD_NONE;
}

/* Whether an object of the last snapshot is surely not in the first one. */
static inline bool is_new(const matched *m, uint32_t object) {
    return !is_old(m, object) && (!m->dart || hd_dart_identity(m->dart, object));
}

#endif
