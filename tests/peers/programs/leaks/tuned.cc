/* usage: tuned_cc CASE, by suspects.sh

   Like tuned.c, in C++.

   leak telnet: telnet_start|ClientItem::ClientItem  https://github.com/ralphlange/procServ/issues/2         a destructor that forgets one of its parts
   leak request: on_headers|HttpRequest::HttpRequest https://github.com/nikhilm/qhttpserver/issues/70        requests are not deleted at a disconnection
   leak full: add_host|Host::Host                    https://github.com/ntop/ntopng/issues/2404              objects that a full table refuses
   leak depth: DepthCache::insert|make_frame         https://github.com/carnegierobotics/LibMultiSense/pull/123  inserted under an existing key
   leak permissions: find_user                       https://github.com/hpcc-systems/HPCC-Platform/pull/8169  looked up by [], which inserts
   leak arrays: array_set                            https://github.com/nwnxee/unified/issues/733            arrays are emptied, not erased
   leak next: list_directory                         https://github.com/includeos/IncludeOS/issues/602       a function that holds itself
   leak stat: add_stat|StatCache::add_stat           https://github.com/s3fs-fuse/s3fs-fuse/issues/340       an unbounded cache, used by threads
   leak actions: map_event|RefreshMapper::map_event  https://github.com/RawTherapee/RawTherapee/issues/5323  events of editors that are closed */
#include <csignal>
#include <cstring>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <queue>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

static const int rounds = 7200;
static unsigned drawn = 1;
static size_t most = 500;
static unsigned draw() { return (drawn = drawn * 1103515245u + 12345u) >> 8; }

// Ordinary work.
struct Lru {
    std::list<std::pair<int, std::string>> order; std::unordered_map<int, std::list<std::pair<int, std::string>>::iterator> index;
    void put(int k) { auto f = index.find(k); if (f != index.end()) { order.erase(f->second); index.erase(f); } order.emplace_front(k, std::string(90 + k % 60, 'l')); index[k] = order.begin(); if (order.size() > 900) { index.erase(order.back().first); order.pop_back(); } }
};
static Lru lru;
static void look_up(int) { lru.put((int)(draw() % 1200)); }
static std::map<std::string, std::vector<int>> symbols;
static void intern(int i) { auto &v = symbols["a symbol of the program " + std::to_string(draw() % 1400)]; if (v.size() < 4) v.push_back(i); }
static std::deque<std::unique_ptr<std::string>> jobs;
static void push_job(int i) { jobs.push_back(std::make_unique<std::string>(70 + i % 40, 'j')); if (jobs.size() >= most) jobs.clear(); }
static std::vector<std::vector<char>> arena; static size_t arena_used;
static void arena_take(int i) { size_t n = 30 + i % 50; if (arena.empty() || arena_used + n > 16384) { arena.emplace_back(16384); arena_used = 0; } arena_used += n; if (arena.size() > 12) arena.clear(); }
static std::priority_queue<int> heap_;
static void schedule(int i) { heap_.push(i); if (heap_.size() > 3000) heap_.pop(); }
static void render(int i) { std::vector<std::string> parts; for (int k = 0; k < 6; k++) parts.push_back("a part of the page that is rendered " + std::to_string(i + k)); }

// Leaks.
struct Telnet { char *options, state[70]; };
static Telnet *telnet_start(int i) { Telnet *t = new Telnet; t->options = new char[48]; t->state[0] = (char)i; return t; }
struct ClientItem { Telnet *telnet; std::string peer; explicit ClientItem(int i) : telnet(telnet_start(i)), peer("a peer with an address " + std::to_string(i)) {} };
static void accept(int i) { if (i % 3 == 0) { auto c = std::make_unique<ClientItem>(i); } }

struct HttpRequest { std::map<std::string, std::string> headers; char url[40]; HttpRequest() { headers["host"] = "an address of some host"; } };
static void on_headers(int i) { HttpRequest *r = new HttpRequest; if (i % 4) delete r; }
static void read_socket(int i) { on_headers(i); }

struct Host { std::string name; std::vector<int> counters; explicit Host(int i) : name("host with a long name " + std::to_string(i)), counters(16) {} };
static std::map<int, Host *> hosts;
static bool hash_add(int i, Host *h) { if (hosts.size() >= 300) return false; hosts[i] = h; return true; }
static void add_host(int i) { hash_add(i, new Host(i)); }
static void process_packet(int i) { if (i % 5 == 0) add_host(i); }

struct DepthFrame { std::vector<float> values; explicit DepthFrame(int i) : values(30 + (size_t)(i % 5)) {} };
struct DepthCache { std::map<int, DepthFrame *> frames; void insert(int k, int i) { frames[k] = new DepthFrame(i); } };
static DepthCache depth_cache;
static void on_image(int i) { if (i % 3 == 0) depth_cache.insert(i % 64, i); }

static std::map<std::string, std::shared_ptr<int>> users;
static bool find_user(const std::string &name) { return users[name] != nullptr; }
static void check_access(int i) { if (i % 2) find_user("a user of the domain " + std::to_string(i)); }

static std::unordered_map<int, std::unordered_map<std::string, std::vector<int>>> stores;
static void array_set(int object, int i) { stores[object]["an array with a name"].push_back(i); }
static void run_object(int i) { if (i % 4) return; array_set(i, i); stores[i]["an array with a name"].clear(); }

static void list_directory(int i) { auto next = std::make_shared<std::function<void(int)>>(); std::string path = "a directory with a long name " + std::to_string(i); *next = [next, path](int n) { if (n > 0) (*next)(n - 1); }; (*next)(2); }
static void open_file(int i) { if (i % 4 == 0) list_directory(i); }

struct StatCache { std::mutex lock; std::map<std::string, std::map<std::string, std::string>> entries; void add_stat(int i) { std::lock_guard<std::mutex> g(lock); auto &e = entries["/bucket/a/path/to/an/object/" + std::to_string(i)]; e["etag"] = "0123456789abcdef0123456789"; } };
static StatCache stat_cache;
static void get_attributes(int i) { if (i % 6 == 0) stat_cache.add_stat(i); }

struct RefreshMapper { std::unordered_map<int, int> actions; std::unordered_map<int, std::string> messages; void map_event(int i) { actions[i] = i; messages[i] = "a message for the event " + std::to_string(i); } };
static RefreshMapper mapper;
static void open_editor(int i) { if (i % 30 == 0) for (int k = 0; k < 10; k++) mapper.map_event(i + k); }

int main(int argc, char **argv) {
    static const struct { const char *name; void (*run)(int); } cases[] = {
        { "telnet", accept }, { "request", read_socket }, { "full", process_packet }, { "depth", on_image }, { "permissions", check_access },
        { "arrays", run_object }, { "next", open_file }, { "stat", get_attributes }, { "actions", open_editor }
    };
    for (auto &c : cases) {
        if (argc != 2 || strcmp(argv[1], c.name)) continue;
        size_t n = (size_t)(&c - cases);
        int steps = n % 3 == 2 ? 2 : 3;
        most = 350 + 190 * n, drawn = (unsigned)n + 7;
        for (int s = 0; s < steps; s++) {
            int from = s * rounds / steps, to = (s + 1) * rounds / steps;
            std::thread t([&] { if (n == 7) for (int i = from; i < to; i += 2) c.run(i); });
            for (int i = from; i < to; i++) { look_up(i), intern(i), push_job(i), arena_take(i), schedule(i), render(i); if (n != 7) c.run(i); }
            t.join();
            raise(SIGUSR2);
        }
        return 0;
    }
    return 2;
}
