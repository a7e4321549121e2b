// Templates, inlining, virtual calls, lambdas, recursion and threads, to compare MemProf's records.
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace {
struct Shape {
    virtual ~Shape() {}
    virtual std::string *name() const = 0;
};

template <class T, int N> struct Ring : Shape {
    std::vector<T> items;
    inline __attribute__((always_inline)) void fill() {
        for (int i = 0; i < N; i++) items.push_back(T(i));
    }
    std::string *name() const override { return new std::string(40 + N, 'r'); }
};

template <class T> inline __attribute__((always_inline)) T *twice(int n) { return new T[n + n]; }

template <class F> __attribute__((noinline)) int apply(F f, int depth) {
    return depth ? apply(f, depth - 1) + 1 : f();
}
} // namespace

struct Tree {
    std::unique_ptr<Tree> left, right;
    char *text;
    explicit Tree(int depth) : text(twice<char>(depth + 8)) {
        if (depth) left.reset(new Tree(depth - 1)), right = std::make_unique<Tree>(depth - 1);
    }
    ~Tree() { delete[] text; }
};

int main(int argc, char **) {
    Ring<int, 30> ints;
    Ring<double, 7> doubles;
    std::map<std::string, std::vector<int>> words;
    int sum = 0;
    ints.fill();
    doubles.fill();
    for (int i = 0; i < 20; i++) words["a word that is not short " + std::to_string(i % 5)].push_back(i);
    std::thread other([&] { delete[] twice<long>(100); });
    other.join();
    Tree tree(3 + argc);
    for (Shape *s : {static_cast<Shape *>(&ints), static_cast<Shape *>(&doubles)}) {
        std::string *name = s->name();
        sum += static_cast<int>(name->size());
        delete name;
    }
    sum += apply([&] { int *p = twice<int>(argc); p[0] = 1; int n = p[0]; delete[] p; return n; }, argc + 2);
    return sum == 0;
}
