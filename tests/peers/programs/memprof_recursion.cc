// Trees: call stacks of many depths through the same few places.
#include <cstddef>

struct tree {
    tree *left, *right;
    long weight;
};

static tree *grow(int depth, long weight);

__attribute__((noinline)) static tree *left(int depth, long weight) { return grow(depth, weight * 2); }
__attribute__((noinline)) static tree *right(int depth, long weight) { return grow(depth, weight * 2 + 1); }

__attribute__((noinline)) static tree *grow(int depth, long weight) {
    tree *t = new tree;
    t->weight = weight;
    t->left = depth ? left(depth - 1, weight) : nullptr;
    t->right = depth && weight % 3 ? right(depth - 1, weight) : nullptr;
    return t;
}

__attribute__((noinline)) static long sum(const tree *t) { return t ? t->weight + sum(t->left) + sum(t->right) : 0; }

__attribute__((noinline)) static void cut(tree *t) {
    if (!t) return;
    cut(t->left);
    cut(t->right);
    delete t;
}

int main() {
    tree *t = grow(7, 1);
    long total = 0;
    for (int i = 0; i < 100; i++) total += sum(t);
    cut(t);
    return total == 0;
}
