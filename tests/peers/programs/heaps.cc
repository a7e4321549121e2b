// A program for heap profilers. Its code shows the bytes that it leaks, keeps to its end, frees, and frees at once.
// One function is inlined, and one is recursive. argv[1]: number of rounds [1]. argv[2]: depth of stacks [5]. With
// PLAIN there is no inlining. With SAMPLE, tcmalloc's heap sample goes to the file argv[3].
#include <cstdlib>
#include <vector>
#ifdef SAMPLE
#include <fstream>
#include <gperftools/malloc_extension.h>
#endif

struct block {
    block *next;
    char bytes[56];
};
static block *volatile kept;
static std::vector<char *> table;

#ifdef PLAIN
__attribute__((noinline))
#else
__attribute__((always_inline))
#endif
static inline block *made(size_t n) {
    block *b = static_cast<block *>(malloc(sizeof(block) + n));
    b->next = kept;
    return b;
}

__attribute__((noinline)) void keep(int count) {
    for (int i = 0; i < count; i++) kept = made(64);
}

__attribute__((noinline)) void descend(int depth) {
    kept = made(static_cast<size_t>(depth));
    if (depth) descend(depth - 1);
    __asm__ volatile("");
}

__attribute__((noinline)) void fill(int count) {
    for (int i = 0; i < count; i++) table.push_back(static_cast<char *>(malloc(100 + static_cast<size_t>(i % 7) * 50)));
}

__attribute__((noinline)) void empty() {
    for (size_t i = 0; i < table.size(); i++) free(table[i]);
    table.clear();
}

__attribute__((noinline)) void pass(int count) {
    for (int i = 0; i < count; i++) {
        void *volatile p = malloc(1000);
        free(p);
    }
}

int main(int argc, char **argv) {
    int times = argc > 1 ? atoi(argv[1]) : 1, depth = argc > 2 ? atoi(argv[2]) : 5;
    table.reserve(2000);
    for (int i = 0; i < times; i++) {
        keep(500);
        fill(2000);
        descend(depth);
        empty();
        pass(20);
    }
    kept = static_cast<block *>(malloc(100000));
#ifdef SAMPLE
    std::string sample;
    MallocExtension::instance()->GetHeapSample(&sample);
    std::ofstream(argv[3]) << sample;
#endif
    return 0;
}
