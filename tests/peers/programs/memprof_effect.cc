// The argument selects the allocations: "a" never touches cache(), as its hints will say. "b" uses cache() but not
// pool(), and also calls it from another place.
#include <cstdlib>
#include <cstring>

#define NOINLINE __attribute__((noinline))

static char *kept[64];
static int count;
NOINLINE char *get(size_t n) { return kept[count++] = new char[n]; }
NOINLINE char *cache() { return get(5000); }
NOINLINE char *pool() { return get(3000); }
NOINLINE char *work() { return get(200); }
NOINLINE char *other() { return get(700); }
NOINLINE void use(char *p, size_t n) {
  for (int i = 0; i < 2000; i++) memset(p, i, n);
}
int main(int, char **argv) {
  bool b = argv[1] && *argv[1] == 'b';
  for (int i = 0; i < 5; i++) {
    char *c = cache(), *p = pool();
    use(work(), 200);
    if (b) use(c, 5000), other();
    else use(p, 3000);
  }
  return kept[3][1] == 77;
}
