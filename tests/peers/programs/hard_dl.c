/* Opens and closes two plugins in turns, 50 times each; their blocks stay. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

int main(void) {
    static void *volatile keep[100];
    for (int i = 0; i < 100; i++) {
        void *library = dlopen(i % 2 ? "./b.so" : "./a.so", RTLD_NOW);
        void *(*call)(void);
        if (!library) return 9;
        *(void **)&call = dlsym(library, i % 2 ? "from_b" : "from_a");
        if (!call || !(keep[i] = call()) || dlclose(library)) return 9;
    }
    return 0;
}
