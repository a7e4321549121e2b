/* The tree of path --class. */
#ifndef HEAPDUMP_WAYS_TREE_H
#define HEAPDUMP_WAYS_TREE_H

#include "../screen/screen.h"
#include "objects.h"

/* How well a programmer knows each name of the tree. */
typedef struct name_worth {
    struct worth { char *name; known known; } *list;
    uint32_t count;
} name_worth;

/* ways_names.c */
void name_worth_add(name_worth *w, char *name, known how); /* the name is taken */
void name_worth_free(name_worth *w);
/* ways_steps.c */
/* Adds the objects asked for as cells of a profile along the paths to them, for a screen of `columns`; 0: with every
   object. */
hd_status ways_fill(const objects *o, const uint8_t *asked, const uint8_t *marks, const ways *w, int columns,
                    hd_profile *profile, name_worth *worth, hd_error *err);
/* ways_names.c */
/* Shortens rows to `columns`; figures take `figures` of them. Leaves out names, the engine's names first. If rows
   are still too long, cuts the last name. */
void ways_shorten(listing *l, name_worth *w, int columns, int figures);

#endif
