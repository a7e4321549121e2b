/* Calls of the C library that call other hooked functions by name. */
#define _GNU_SOURCE
#include <stdlib.h>

static void *volatile p;

int main(void) {
    for (int i = 1; i <= 100; i++) p = reallocarray(p, 1000, 1);
    return 0;
}
