/* usage: published_cc CASE, by suspects.sh

   Like published.c, in C++; `session` and `detached` use threads.

   leak cycle: make_cluster        https://github.com/boostorg/smart_ptr/issues/71     an object is an element of its own set
   leak self: add_part|Replica::init https://github.com/vesoft-inc/nebula-storage/pull/218  a part holds its owner by shared_from_this
   leak plane: Plane::Plane        https://github.com/FLIF-hub/FLIF/issues/184         a base class whose destructor is not virtual
   leak box: LineBox::LineBox      https://github.com/litehtml/litehtml/issues/38      ... for boxes with containers
   leak duplicate: duplicate_text  https://github.com/twohoursonelife/OneLife/issues/273  a copy that its caller should delete
   leak session: create_session    https://github.com/sysown/proxysql/issues/449       connections of sessions that end early, by several threads
   leak detached: run_detached     https://github.com/tinycthread/tinycthread/issues/24  the result of a thread that no one joins
   leak query: parse_query|NodeList::NodeList  https://github.com/casacore/casacore/pull/1402  a tree of nodes deleted as their base
   leak market: join_market|Trader::Trader     https://github.com/cyclus/cyclus/pull/942        traders and requests hold each other */
#include <csignal>
#include <cstring>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

static const int rounds = 6000;

// Ordinary work. The amount that waits at a time differs from case to case.
static size_t most_pending = 1100;
static unsigned drawn = 1;
static unsigned draw() { return (drawn = drawn * 1103515245u + 12345u) >> 8; }
static std::unordered_map<int, std::string> pages;
static void cache_page(int i) { pages[i * 31 % 700] = std::string(200 + i % 300, 'p'); }
static std::vector<std::vector<int>> pending;
static void queue_job(int i) { pending.emplace_back(20 + i % 30, i); if (pending.size() == most_pending) pending.clear(); }
static std::map<std::string, int> words;
static void count_word(int i) { words["a word of the text " + std::to_string(draw() % 1000)]++; (void)i; }
static std::list<std::string> recent;
static void remember(int i) { recent.push_back(std::string(500, 'r')); if (recent.size() > 200) recent.pop_front(); (void)i; }
static std::vector<std::string> config;
static void load_config() { for (int i = 0; i < 2000; i++) config.push_back("a setting that has a name and a value " + std::to_string(i)); }
static void handle_request(int i) { std::map<int, std::string> headers; for (int k = 0; k < 5; k++) headers[k] = "a header of a request that comes " + std::to_string(i); }

// Leaks.
struct Cluster { std::set<std::shared_ptr<Cluster>> elements; char points[120]; };
static void make_cluster(int i) { auto a = std::make_shared<Cluster>(); a->points[0] = (char)i; a->elements.insert(a); }

struct Replica;
struct Host { std::shared_ptr<Replica> part; char address[60]; };
struct Replica : std::enable_shared_from_this<Replica> { std::shared_ptr<Host> host; char log[100]; void init() { host = std::make_shared<Host>(); host->part = shared_from_this(); } };
static void add_part(int i) { if (i % 2) return; auto part = std::make_shared<Replica>(); part->init(); }

struct GeneralPlane { int width = 0; ~GeneralPlane() {} };
struct Plane : GeneralPlane { std::vector<short> pixels; explicit Plane(int i) : pixels(64 + (size_t)(i % 16)) {} };
static void decode_image(int i) { GeneralPlane *p = new Plane(i); if (i % 3 == 0) delete p; else delete static_cast<Plane *>(p); }

struct Box { ~Box() {} };
struct LineBox : Box { std::vector<void *> items; explicit LineBox(int i) { items.reserve(12 + (size_t)(i % 5)); } };
static void layout_line(int i) { Box *b = new LineBox(i); delete b; }

static char *duplicate_text(const std::string &s) { char *p = new char[s.size() + 1]; memcpy(p, s.c_str(), s.size() + 1); return p; }
static void join_family(int i) { char *email = duplicate_text("player" + std::to_string(i) + "@example.org"), *code = duplicate_text("twin code"); if (strlen(email) > 3) delete[] code; }

struct Connection { char buffer[300]; std::string schema = "a schema with a long name"; };
struct Session { Connection *connection; };
static std::mutex sessions_lock; static std::map<int, Session *> sessions;
static Session *create_session(int i) { Session *s = new Session; s->connection = i % 8 ? nullptr : new Connection; return s; }
static void serve(int i) { Session *s = create_session(i); { std::lock_guard<std::mutex> g(sessions_lock); sessions[i] = s; } std::lock_guard<std::mutex> g(sessions_lock); sessions.erase(i); if (i % 16) delete s->connection; delete s; }

struct Task { std::function<int()> run; };
static void run_detached(Task *t, std::function<void()> done) { int *result = new int(t->run()); delete t; done(); if (*result < 0) delete result; }
static std::mutex done_lock; static int finished;
static void spawn(int i) {
    if (i % 20) return;
    int before; { std::lock_guard<std::mutex> g(done_lock); before = finished; }
    for (int k = 0; k < 3; k++) std::thread(run_detached, new Task{ [i] { return i; } }, [] { std::lock_guard<std::mutex> g(done_lock); finished++; }).detach();
    for (int now = before; now < before + 3;) { std::this_thread::yield(); std::lock_guard<std::mutex> g(done_lock); now = finished; }
}

struct Node { int type = 0; ~Node() {} };
struct NodeList : Node { std::vector<std::string> names; NodeList() : names(3, "a column whose name is long enough") {} };
static Node *parse_query() { return new NodeList; }
static void run_query(int i) { Node *n = parse_query(); if (i % 4) delete static_cast<NodeList *>(n); else delete n; }

struct Trader;
struct Want { std::shared_ptr<Trader> requester; double quantity[6]; };
struct Trader { std::vector<std::shared_ptr<Want>> wants; std::string prototype; explicit Trader(int i) : prototype("a prototype with a number " + std::to_string(i)) {} };
static void join_market(int i) { auto t = std::make_shared<Trader>(i); auto w = std::make_shared<Want>(); t->wants.push_back(w); if (i % 5 == 0) w->requester = t; }

int main(int argc, char **argv) {
    static const struct { const char *name; void (*run)(int); bool threaded; } cases[] = {
        { "cycle", make_cluster, false }, { "self", add_part, false }, { "plane", decode_image, false }, { "box", layout_line, false },
        { "duplicate", join_family, false }, { "session", serve, true }, { "detached", spawn, false },
        { "query", run_query, false }, { "market", join_market, false }
    };
    for (auto &c : cases) {
        if (argc != 2 || strcmp(argv[1], c.name)) continue;
        most_pending = 400 + 101 * (size_t)(&c - cases), drawn = (unsigned)most_pending;
        load_config();
        for (int step = 0; step < 3; step++) {
            int from = step * rounds / 3, to = (step + 1) * rounds / 3;
            std::vector<std::thread> workers;
            for (int w = 0; w < 3 && c.threaded; w++) workers.emplace_back([&c, from, to, w] { for (int i = from; i < to; i++) if (i % 3 == w) c.run(i); });
            for (int i = from; i < to; i++) { cache_page(i), queue_job(i), count_word(i), remember(i), handle_request(i); if (!c.threaded) c.run(i); }
            for (auto &w : workers) w.join();
            raise(SIGUSR2);
        }
        return 0;
    }
    return 2;
}
