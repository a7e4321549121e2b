/* For valgrind --tool=dhat in each of its modes: blocks that stay, temporary blocks, blocks freed at the end; copies;
   events of 1 to 4 units. With an argument FREE no block stays. */
#include <stdlib.h>
#include <string.h>
#include <valgrind/dhat.h>

static char *grow(size_t bytes) { return malloc(bytes); }

static char *table(size_t i) {
    char *made = grow(100 * i);
    DHAT_AD_HOC_EVENT(i);
    memset(made, 1, 50);
    return made;
}

static void pass(size_t i) {
    char *made = calloc(i, 7);
    made[0] = 1;
    free(made);
}

int main(int argc, char **argv) {
    char *kept[4], copy[64];
    size_t last = argc > 1 ? 0 : 3;
    for (size_t i = 0; i < 4; i++) {
        kept[i] = table(i + 1);
        memcpy(copy, kept[i], 50 + i);
    }
    for (size_t i = 1; i <= 10; i++) pass(i);
    for (size_t i = last; i < 4; i++) free(kept[i]);
    return copy[1] + (argv == NULL) - 1;
}
