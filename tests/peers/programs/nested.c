/* Calls of the C library's that call others of it by name. */
#define _GNU_SOURCE
#include <stdlib.h>

static void *volatile p;

int main(void) {
    for (int i = 1; i <= 100; i++) p = reallocarray(p, 1000, 1);
    return 0;
}
