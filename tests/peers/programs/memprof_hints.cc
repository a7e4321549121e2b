// Contexts of operator new that are hot, cold, or both, distinguished by callers: through a common function,
// inlining, recursion and templates. Hot blocks are read again and again, cold ones are only kept.
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#define NOINLINE __attribute__((noinline))
#define INLINE inline __attribute__((always_inline))

static volatile long sink;
static char *kept[1000];
static int kept_count;

static void use(const char *p, size_t n, int times) {
    for (int k = 0; k < times; k++)
        for (size_t i = 0; i < n; i++) sink += p[i];
}

// One place, hot or cold: only the callers differ.
NOINLINE static char *make(size_t n) { return new char[n](); }
NOINLINE static char *pass(size_t n) { return make(n); }

NOINLINE static void keep() { kept[kept_count++] = pass(512); }
NOINLINE static void work() {
    char *p = pass(64);
    use(p, 64, 3000);
    delete[] p;
}

// Hot or cold, inlined only into one of its callers.
INLINE char *shared(size_t n) { return new char[n](); }
NOINLINE static void keep_inlined() { kept[kept_count++] = shared(700); }
NOINLINE static void work_inlined() {
    char *p = shared(48);
    use(p, 48, 3000);
    delete[] p;
}

// Always cold.
NOINLINE static void always_cold() { kept[kept_count++] = new char[900]; }
NOINLINE static void always_hot() {
    char *p = new char[32]();
    use(p, 32, 5000);
    delete[] p;
}

// The depth of the recursion decides.
NOINLINE static char *deep(int depth, size_t n) { return depth ? deep(depth - 1, n) : new char[n](); }
NOINLINE static void recurse(bool cold) {
    char *p = cold ? deep(5, 400) : deep(2, 40);
    if (cold) {
        kept[kept_count++] = p;
    } else {
        use(p, 40, 3000);
        delete[] p;
    }
}

// The template's argument decides, and the library's containers.
template <int n> struct chunk {
    char bytes[n];
    static NOINLINE chunk *make() { return new chunk(); }
};
template <int n, bool cold> NOINLINE static void fill(std::vector<std::unique_ptr<chunk<n>>> &all) {
    for (int i = 0; i < 10; i++) {
        all.emplace_back(chunk<n>::make());
        if (!cold) use(all.back()->bytes, n, 500);
    }
    if (!cold) all.clear();
}

int main() {
    std::vector<std::unique_ptr<chunk<100>>> a, b;
    std::string text;
    for (int i = 0; i < 20; i++) {
        keep();
        work();
        keep_inlined();
        work_inlined();
        always_cold();
        always_hot();
        recurse(i % 2);
    }
    fill<100, true>(a);
    fill<100, false>(b);
    for (int i = 0; i < 2000; i++) text += "text ";
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    for (int i = 0; i < kept_count; i++) delete[] kept[i];
    return text.empty();
}
