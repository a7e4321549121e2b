/* A program that also uses stb_ds, with its own allocation functions. -DORDER says where it implements stb_ds. 1 to 3
   and 6 implement it in the file with the implementation of heapdump.h. 1 does so before heapdump.h, 2 after it; 3
   declares stb_ds before and implements it after. 6 is like 2, with static functions (only in C). Else another file
   implements stb_ds: this file is compiled twice, as 4 (heapdump.h) and as 5 (stb_ds). */
#ifdef __cplusplus
extern "C" {
#endif
int own_containers(int round);   /* nonzero: failed */
int own_blocks(void);            /* blocks of the program's stb_ds */
#ifdef __cplusplus
}
#endif

#if ORDER != 4
#include <stdlib.h>
static int blocks;
static void *own_realloc(void *block, size_t size) {
    blocks += !block;
    return realloc(block, size);
}
static void own_free(void *block) {
    blocks -= block != NULL;
    free(block);
}
#define STBDS_REALLOC(context, block, size) own_realloc((block), (size))
#define STBDS_FREE(context, block) own_free(block)
#endif

#if ORDER == 1 || ORDER == 5
#define STB_DS_IMPLEMENTATION
#include "stb_ds.h"
#elif ORDER == 3
#include "stb_ds.h"
#endif

#if ORDER != 5
#define HEAPDUMP_IMPLEMENTATION
#include "use.c"
#endif

#if ORDER == 6
#pragma GCC diagnostic ignored "-Wunused-function"
#define extern static
#endif
#if ORDER == 2 || ORDER == 3 || ORDER == 6
#define STB_DS_IMPLEMENTATION
#include "stb_ds.h"
#undef extern
#endif

#if ORDER != 4
typedef struct { int key, value; } int_pair;
typedef struct { char *key; int value; } string_pair;

static char *name_of(char *buffer, int i) {
    buffer[0] = 'k';
    for (int k = 1; k < 7; k++, i /= 10) buffer[k] = (char)('0' + i % 10);
    buffer[7] = 0;
    return buffer;
}

int own_blocks(void) { return blocks; }

/* An array, a hash map and a string map that live from round 0 to round 2. */
int own_containers(int round) {
    static int *array;
    static int_pair *map;
    static string_pair *strings;
    char name[8], nobody[] = "nobody";
    int failed = 0, size = (round + 1) * 1000, missing = -1;
    if (round == 0) {
        stbds_rand_seed(12345);
        sh_new_strdup(strings);
    }
    for (int i = size - 1000; i < size; i++) {
        arrput(array, i);
        hmput(map, i, 2 * i);
        shput(strings, name_of(name, i), 3 * i);
    }
    failed |= arrlen(array) != size || hmlen(map) != size || shlen(strings) != size;
    for (int i = 0; i < size; i++)
        failed |= array[i] != i || hmget(map, i) != 2 * i || shget(strings, name_of(name, i)) != 3 * i;
    failed |= hmgeti(map, missing) != -1 || shgeti(strings, nobody) != -1 || blocks < size;
    if (round < 2) return failed;
    for (int i = 0; i < size; i += 2) failed |= !hmdel(map, i) || !shdel(strings, name_of(name, i));
    failed |= hmlen(map) != size / 2 || shlen(strings) != size / 2;
    arrfree(array);
    hmfree(map);
    shfree(strings);
    return failed || blocks != 0;
}
#endif

#if ORDER != 5
int main(void) {
    int failed = other_file();
    for (int round = 0; round < 3; round++) {
        failed |= own_containers(round);
        int before = own_blocks();
        failed |= other_file() || own_blocks() != before; /* heapdump's blocks are not counted */
    }
    return failed;
}
#endif
