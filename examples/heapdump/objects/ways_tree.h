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
/* The objects that are asked for, as cells of a profile along the ways to them: for a screen of so many columns, or
   with every object for 0. */
hd_status ways_fill(const objects *o, const uint8_t *asked, const uint8_t *marks, const ways *w, int columns,
                    hd_profile *profile, name_worth *worth, hd_error *err);
/* ways_names.c */
/* Fits rows into lines of `columns`, of which figures take `figures`. Names are left out, those of the engine first.
   If that is not enough, the last name is cut. */
void ways_shorten(listing *l, name_worth *w, int columns, int figures);

#endif
