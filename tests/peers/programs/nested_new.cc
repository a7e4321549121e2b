/* All forms of operator new, which allocators implement by calling each other. With an argument one fails, too, and
   its exception passes frames of the hooks. */
#include <cstdint>
#include <new>
#include <vector>

struct alignas(64) wide { char bytes[192]; };
static std::vector<void *> kept;
static volatile std::size_t much = SIZE_MAX / 4;

static __attribute__((noinline)) void fail() {
    try {
        kept.push_back(::operator new(much));
    } catch (const std::bad_alloc &) {
        kept.push_back(::operator new(77));
    }
}

int main(int argc, char **) {
    for (int i = 0; i < 100; i++) {
        delete new wide;
        kept.push_back(new wide);
        kept.push_back(new (std::nothrow) wide[3]);
        delete[] new wide[2];
        delete[] new char[100];
        kept.push_back(::operator new(0));
        if (argc > 1) fail();
        if (argc > 1) kept.push_back(::operator new(much, std::nothrow));
    }
    return 0;
}
