/* usage: fourth_cc CASE, by suspects.sh

   Like fourth.c, in C++: namespaces named like those of runtimes, lambdas, threads.

   leak store: core::cache::Store::put  an entry whose key changes is put again, and stays
   leak buffers: alloc::Buffers::acquire  a buffer goes back only if the request succeeded
   leak tick: runtime::Scheduler::newtimer  a timer that has fired stays allocated
   leak lambda: wire_up::{lambda(int)#1}::operator()|wire_up()::{lambda(int)#1}::operator()|operator()|fire               the block that a callback makes is never given back
   leak sessions: net::Session::open  sessions of two threads lose their input (threads)
   leak nodes: graph::Linker::make|link_two  two nodes that point to each other stay (over 90 %)
   leak bus: Bus::subscribe           subscribers are never taken out (over 90 %)
   leak clone: shape::Circle::clone   a copy for an overlap test is not deleted */
#include <csignal>
#include <cstdio>
#include <cstring>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

static unsigned long long lost;
static unsigned drawn = 11;
static unsigned draw() { return (drawn = drawn * 1103515245u + 12345u) >> 8; }

// Ordinary work.
static std::map<int, std::string> settings;
static std::list<std::string> history;
static void read_settings(int n) { for (int i = 0; i < n; i++) settings[i] = std::string(30 + draw() % 60, 's'); }
static void remember(int i) { history.push_back(std::string(40 + (unsigned)i % 80, 'h')); if (history.size() > 400) history.pop_front(); }
static void sort_some() { std::vector<unsigned> v(200); for (auto &x : v) x = draw(); }
static void honest(int i) { remember(i), sort_some(); }

namespace core { namespace cache {
struct Entry { int key; char body[250]; };
class Store {
public:
    void put(int key) { Entry *e = new Entry; e->key = key; Entry *&at = slots[key % 50]; if (at && at->key == key - 50 && key % 2) delete at; else if (at) lost += sizeof *at; at = e; }
    unsigned long long kept() const { unsigned long long n = 0; for (auto *e : slots) n += e ? sizeof *e : 0; return n; }
private:
    Entry *slots[50] = {};
};
} }
static core::cache::Store store;

namespace alloc {
class Buffers {
public:
    static char *acquire(size_t n) { return new char[n]; }
    static void release(char *p) { delete[] p; }
};
}
static void request(int i) { size_t n = 200 + draw() % 100; char *b = alloc::Buffers::acquire(n); b[0] = (char)i; if (i % 5) alloc::Buffers::release(b); else lost += n; }

namespace runtime {
struct timer { long due; void *state[12]; };
class Scheduler {
public:
    timer *newtimer(int i) { timer *t = new timer(); t->due = i; return t; }
    void tick(int i) { timer *t = newtimer(i); if (i % 3) delete t; else lost += sizeof *t; }
};
}
static runtime::Scheduler scheduler;

static std::vector<std::function<void(int)>> callbacks;
static void wire_up() {
    callbacks.push_back([](int i) { char *block = static_cast<char *>(malloc(180)); block[0] = (char)i; lost += 180; });
    callbacks.push_back([](int i) { char *block = static_cast<char *>(malloc(500)); block[0] = (char)i; free(block); });
}
static void fire(int i) { if (callbacks.empty()) wire_up(); for (auto &f : callbacks) f(i); }

namespace net {
static std::mutex lock;
struct Session {
    char *input = nullptr;
    void open(int i) { size_t n = 256 + (unsigned)i % 64; input = new char[n]; std::lock_guard<std::mutex> hold(lock); lost += n; }
};
static void serve(int i) { for (int k = 0; k < 20; k++) { Session s; s.open(i + k); std::string reply(300, 'r'); } }
}
static void serve_two(int i) { if (i % 20) return; std::thread a(net::serve, i), b(net::serve, i + 1); a.join(), b.join(); }

namespace graph {
struct Node { std::shared_ptr<Node> other; char payload[1000]; };
static std::shared_ptr<Node> last;
}
namespace graph {
struct Linker {
    static std::shared_ptr<Node> make() { struct Alone { std::shared_ptr<Node> operator()() const { return std::shared_ptr<Node>(new Node); } }; return Alone()(); }
};
}
struct Bus {
    std::vector<std::function<int()>> subscribers;
    struct Large { char bytes[900]; };
    void subscribe(int i) { Large l; memset(&l, i, sizeof l); subscribers.push_back([l] { return l.bytes[3]; }); lost += sizeof l; }
};
static Bus bus;
static void subscribe(int i) { if (!bus.subscribers.capacity()) bus.subscribers.reserve(20000); bus.subscribe(i); }

namespace shape {
struct Shape { virtual ~Shape() = default; virtual Shape *clone() const = 0; double box[4] = {}; };
struct Circle : Shape { double radius = 1; char name[96] = {}; Shape *clone() const override { return new Circle(*this); } };
}
static shape::Circle circle;
static void overlap(int i) { shape::Shape *copy = circle.clone(); if (i % 2) delete copy; else lost += sizeof(shape::Circle); }

static void put(int i) { store.put(i); }
static void tick(int i) { scheduler.tick(i); }
static void link_two(int) {
    auto a = graph::Linker::make(), b = graph::Linker::make();
    a->other = b, b->other = a;
    lost += 2 * (sizeof(graph::Node) + 24);
}

static const struct { const char *name; void (*run)(int); int rounds, settings; } cases[] = {
    { "store", put, 6000, 1500 }, { "buffers", request, 9000, 1500 }, { "tick", tick, 9000, 1500 }, { "lambda", fire, 6000, 1500 },
    { "sessions", serve_two, 6000, 1500 }, { "nodes", link_two, 6000, 100 }, { "bus", subscribe, 9000, 100 }, { "clone", overlap, 9000, 1500 }
};

int main(int argc, char **argv) {
    for (const auto &c : cases) {
        if (argc != 2 || strcmp(argv[1], c.name)) continue;
        read_settings(c.settings);
        for (int i = 0; i < c.rounds; i++) {
            honest(i), c.run(i);
            if (i % (c.rounds / 3) != c.rounds / 3 - 1) continue;
            printf("leaked %llu\n", lost + (c.run == put ? store.kept() : 0)), fflush(stdout);
            raise(SIGUSR2);
        }
        return 0;
    }
    return 2;
}
