// A program and its library, from one source. Each function below allocates a known number of blocks of one size.
#include <cstdio>

#define NOINLINE __attribute__((noinline))
extern "C" void library_work();

static char *volatile kept;

NOINLINE static void blocks(int n, size_t size) {
    for (int i = 0; i < n; i++) {
        kept = new char[size];
        kept[0] = 1;
        delete[] kept;
    }
}

#ifdef LIBRARY
NOINLINE static void library_first() { blocks(3, 111); }
inline __attribute__((always_inline)) void library_inlined() {
    kept = new char[222];
    delete[] kept;
}
extern "C" NOINLINE void library_work() {
    library_first();
    for (int i = 0; i < 4; i++) library_inlined();
    kept = new char[333];
    delete[] kept;
}
#else
NOINLINE static void program_first() { blocks(5, 444); }
NOINLINE static char *program_second(int n) { return n ? program_second(n - 1) : new char[555]; }
int main() {
    program_first();
    delete[] program_second(3);
    library_work();
    return 0;
}
#endif
