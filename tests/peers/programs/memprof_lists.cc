/* Lists made by functions that call each other, are recursive, and are inlined. */
struct node { node *next; long value[3]; };
__attribute__((noinline)) static node *make(node *next) { node *n = new node; n->next = next; n->value[0] = 1; return n; }
__attribute__((always_inline)) inline node *pair(node *n) { return make(make(n)); }
__attribute__((noinline)) node *a(node *n) { return pair(n); }
__attribute__((noinline)) node *c(node *n, int depth) { return depth ? c(make(n), depth - 1) : a(pair(n)); }
int main() { node *n = c(nullptr, 3); long s = 0; while (n) { node *next = n->next; s += n->value[0]; delete n; n = next; } return s != 7; }
