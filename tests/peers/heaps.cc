// A program for heap profilers: what it leaks, keeps to its end, frees, and frees at once is told by its code; one
// function is inlined, one calls itself. argv[1]: how often everything is done [1]. argv[2]: stacks go so much deeper.
#include <cstdlib>
#include <cstring>
#include <vector>

struct block {
    block *next;
    char bytes[56];
};
static block *volatile kept;
static std::vector<char *> table;

static inline __attribute__((always_inline)) block *made(size_t n) {
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
    for (int i = 0; i < count; i++) table.push_back(new char[100 + static_cast<size_t>(i % 7) * 50]);
}

__attribute__((noinline)) void empty() {
    for (size_t i = 0; i < table.size(); i++) delete[] table[i];
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
    return 0;
}
