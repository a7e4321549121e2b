/* usage: third_cc CASE, by suspects.sh

   Like third.c, in C++; peers, programs, rpc and endpoint are threaded servers.

   leak ping: cServer::OnConnectionAccepted|cClientHandle::cClientHandle  https://github.com/cuberite/cuberite/pull/3794  a client that only asks for the list of players keeps a pointer to itself
   leak peers: ConnectionManager::addConnection|Upgrader::upgradeInbound|YamuxedConnection::YamuxedConnection  https://github.com/qdrvm/kagome/pull/1385  closed connections are not removed
   leak programs: EnqueueProgramCommand::process  https://github.com/tenstorrent/tt-metal/issues/13588  a map of each thread that is filled and never emptied
   leak landmark: data::landmark::landmark|mapping_module::triangulate  https://github.com/xdspacelab/openvslam/issues/365  removed from the map, but not deleted
   leak timer: InvokeTimer::Create|InvokeTimer::InvokeTimer  https://github.com/Qihoo360/evpp/issues/253  a timer that never learns of its end holds itself
   leak rpc: ServerConnection::Accepted|tthread::thread::thread|ServerConnection::ServerConnection  https://github.com/DFHack/dfhack/pull/930  threads of connections are neither joined nor deleted
   leak query: osquery::queryInternal|sqlite3_prepare_v2  https://github.com/osquery/osquery/pull/5911  a statement that fails in a step is not finalized
   leak endpoint: endpoint::create_connection|connection::init|connection::connection  https://github.com/zaphoyd/websocketpp/issues/310  handlers of a connection hold the connection */
#include <atomic>
#include <csignal>
#include <cstring>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <pthread.h>
#include <set>
#include <string>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <vector>

static std::mutex world;
static unsigned drawn = 1;
static unsigned draw() { return (drawn = drawn * 1103515245u + 12345u) >> 8; }

// Ordinary work; each program uses the parts that it needs.
class Config {
public:
    void load(int n) { for (int i = 0; i < n; i++) values["section.of.the.configuration.key" + std::to_string(i)] = std::string(10 + draw() % 90, 'v'); }
private:
    std::map<std::string, std::string> values;
};
template <class Value> class LruCache {
public:
    explicit LruCache(size_t room) : room(room) {}
    Value &get(int key, const std::function<Value()> &make) {
        auto it = where.find(key);
        if (it != where.end()) { order.splice(order.begin(), order, it->second); return it->second->second; }
        order.emplace_front(key, make());
        where[key] = order.begin();
        if (order.size() > room) { where.erase(order.back().first); order.pop_back(); }
        return order.front().second;
    }
private:
    size_t room;
    std::list<std::pair<int, Value>> order;
    std::unordered_map<int, typename std::list<std::pair<int, Value>>::iterator> where;
};
class WorkQueue {
public:
    void push(int i) { jobs.emplace_back([i, payload = std::string(60 + draw() % 200, 'j')] { return i + (int)payload.size(); }); }
    void drain() { while (!jobs.empty()) { jobs.front()(); jobs.pop_front(); } }
private:
    std::deque<std::function<int()>> jobs;
};
class EventLog {
public:
    explicit EventLog(size_t most) : most(most) {}
    void add(int i) { lines.push_back("something happened to number " + std::to_string(i) + std::string(draw() % 60, '.')); if (lines.size() > most) lines.pop_front(); }
private:
    size_t most;
    std::deque<std::string> lines;
};
class FramePool {
public:
    void work(unsigned most) { std::vector<std::unique_ptr<std::vector<char>>> taken; for (unsigned n = 1 + draw() % most; n; n--) { if (spare.empty()) spare.push_back(std::make_unique<std::vector<char>>(3000)); taken.push_back(std::move(spare.back())); spare.pop_back(); } for (auto &f : taken) spare.push_back(std::move(f)); }
private:
    std::vector<std::unique_ptr<std::vector<char>>> spare;
};
static Config config;
static LruCache<std::string> pages(700);
static WorkQueue queue;
static EventLog event_log(400);
static FramePool frames;

// cuberite: players come, stay and go; others only ping
class cClientHandle : public std::enable_shared_from_this<cClientHandle> {
public:
    explicit cClientHandle(int i) : m_IPString("192.168.1." + std::to_string(i % 250)), m_Incoming(200 + draw() % 200) {}
    void SetSelf(std::shared_ptr<cClientHandle> a_Self) { m_Self = std::move(a_Self); }
    void Destroy() { m_Self.reset(); }
    void HandlePing() { m_HasSentDC = true; }
    void HandleLogin() { m_LoadedChunks.resize(40); }
private:
    std::shared_ptr<cClientHandle> m_Self;
    std::string m_IPString;
    std::vector<char> m_Incoming;
    std::vector<long> m_LoadedChunks;
    bool m_HasSentDC = false;
};
class cServer {
public:
    std::shared_ptr<cClientHandle> OnConnectionAccepted(int i) { auto h = std::make_shared<cClientHandle>(i); h->SetSelf(h); return h; }
    void Tick(int i) {
        unsigned k = draw() % 60;
        if (players[k]) { players[k]->Destroy(); players[k].reset(); } else { players[k] = OnConnectionAccepted(i); players[k]->HandleLogin(); }
        if (i % 4 == 0) OnConnectionAccepted(i)->HandlePing();
    }
private:
    std::shared_ptr<cClientHandle> players[60];
};
static cServer server;
struct Chunk { std::vector<short> blocks; Chunk() : blocks(2048) {} };
static LruCache<Chunk> chunks(300);
static void cuberite(int i, int) { server.Tick(i); chunks.get((int)(draw() % 900 * (draw() % 900) / 900), [] { return Chunk(); }); queue.push(i); if (i % 20 == 19) queue.drain(); event_log.add(i); }

// kagome: connections to peers, by several threads
struct Connection { virtual ~Connection() {} virtual bool isClosed() const = 0; };
struct YamuxedConnection : Connection {
    std::string peer;
    std::vector<char> window;
    std::map<int, std::string> streams;
    bool closed = false;
    explicit YamuxedConnection(int i) : peer("12D3KooW" + std::to_string(i) + "0123456789abcdef"), window(256) {}
    bool isClosed() const override { return closed; }
    void open(int s) { streams[s] = "/a/protocol/of/the/network/1"; }
    void close() { closed = true; streams.clear(); }
};
struct Upgrader { std::shared_ptr<YamuxedConnection> upgradeInbound(int i) { return std::make_shared<YamuxedConnection>(i); } };
class ConnectionManager {
public:
    void addConnection(const std::string &peer, std::shared_ptr<Connection> c) { connections[peer].insert(c); }
    bool connected(const std::string &peer) { for (auto &c : connections[peer]) if (!c->isClosed()) return true; return false; }
private:
    std::unordered_map<std::string, std::unordered_set<std::shared_ptr<Connection>>> connections;
};
static Upgrader upgrader;
static ConnectionManager manager;
static void kagome(int i, int) {
    std::vector<char> packet(1200 + (size_t)(i % 300));
    std::lock_guard<std::mutex> g(world);
    std::string peer = "peer" + std::to_string(draw() % 150);
    if (i % 5 == 0) { auto c = upgrader.upgradeInbound(i); manager.addConnection(peer, c); c->open(1); c->open(3); c->close(); }
    manager.connected(peer);
    pages.get((int)(draw() % 1000), [] { return std::string(300 + draw() % 300, 'b'); });
    event_log.add(i);
}

// tt-metal: programs are put on a queue by the threads of devices
struct CachedProgramCommandSequence { std::vector<unsigned> preamble, stall, runtime_args; size_t bytes = 0; };
struct Program { unsigned long id; std::vector<unsigned> kernels; explicit Program(unsigned long id) : id(id), kernels(100 + id % 60) {} };
class EnqueueProgramCommand {
public:
    explicit EnqueueProgramCommand(const Program &p) : program(p) {}
    void process() {
        thread_local static std::unordered_map<unsigned long, CachedProgramCommandSequence> cached_program_command_sequences;
        auto &c = cached_program_command_sequences[program.id];
        if (c.bytes) return;
        c.preamble.resize(16), c.stall.resize(8), c.runtime_args.resize(40 + program.id % 20), c.bytes = 64 * sizeof(unsigned);
    }
private:
    const Program &program;
};
static std::atomic<unsigned long> program_ids{1};
static void tt_metal(int i, int w) {
    std::vector<unsigned> tile(1024 + (size_t)w);
    Program p(i % 6 ? (unsigned long)(i % 11) + 10000000 : program_ids++);
    EnqueueProgramCommand(p).process();
    std::lock_guard<std::mutex> g(world);
    frames.work(12); event_log.add(i); queue.push(i); if (i % 150 == 0) queue.drain();
}

// openvslam: triangulation finds the points of a map; rarely seen ones are removed.
namespace data {
struct landmark { unsigned id; double pos_w[3], mean_normal[3]; std::map<unsigned, unsigned> observations; unsigned char descriptor[32]; explicit landmark(unsigned id) : id(id) { observations[id] = 1; observations[id + 1] = 2; } bool will_be_erased = false; void prepare_for_erasing() { observations.clear(); will_be_erased = true; } };
struct map_database { std::unordered_map<unsigned, landmark *> landmarks; void add_landmark(landmark *lm) { landmarks[lm->id] = lm; } void erase_landmark(landmark *lm) { landmarks.erase(lm->id); } };
struct keyframe { unsigned id; std::vector<float> keypoints; explicit keyframe(unsigned id) : id(id), keypoints(300) {} };
}
static data::map_database map_db;
static std::deque<data::landmark *> fresh;
class mapping_module {
public:
    void new_keyframe(unsigned i) { keyframes.push_back(std::make_unique<data::keyframe>(i)); if (keyframes.size() > 80) keyframes.pop_front(); }
    void triangulate(unsigned i) { auto lm = new data::landmark(i * 2); map_db.add_landmark(lm); fresh.push_back(lm); }
    void remove_invalid_landmarks() { while (fresh.size() > 500) { auto lm = fresh.front(); fresh.pop_front(); lm->prepare_for_erasing(); map_db.erase_landmark(lm); } }
private:
    std::deque<std::unique_ptr<data::keyframe>> keyframes;
};
static mapping_module mapper;
static void openvslam(int i, int) { std::vector<unsigned char> image(20000); frames.work(6); if (i % 5 == 0) mapper.new_keyframe((unsigned)i); if (i % 2) mapper.triangulate((unsigned)i); mapper.remove_invalid_landmarks(); event_log.add(i); }

// evpp: timers of connections; most are cancelled.
class InvokeTimer : public std::enable_shared_from_this<InvokeTimer> {
public:
    typedef std::function<void()> Functor;
    static std::shared_ptr<InvokeTimer> Create(double timeout, Functor f) { std::shared_ptr<InvokeTimer> it(new InvokeTimer(timeout, std::move(f))); it->self_ = it; return it; }
    void OnTimeTriggered() { functor_(); self_.reset(); }
    void OnCanceled() { functor_ = Functor(); self_.reset(); }
private:
    InvokeTimer(double timeout, Functor f) : timeout_(timeout), functor_(std::move(f)) {}
    double timeout_;
    Functor functor_;
    std::shared_ptr<InvokeTimer> self_;
};
struct TCPConn { std::string name; std::vector<char> input; std::shared_ptr<InvokeTimer> delay_close_timer; explicit TCPConn(int i) : name("127.0.0.1:9099-connection-number-" + std::to_string(i)), input(300) {} };
static std::map<int, TCPConn> conns;
static void evpp(int i, int) {
    int k = (int)(draw() % 300);
    auto it = conns.find(k);
    if (it == conns.end()) { TCPConn c(i); c.delay_close_timer = InvokeTimer::Create(3.0, [name = c.name] { queue.push((int)name.size()); }); conns.emplace(k, c); }
    else { if (i % 5 == 0) it->second.delay_close_timer->OnTimeTriggered(); else if (i % 5 < 4) it->second.delay_close_timer->OnCanceled(); conns.erase(it); }
    pages.get((int)(draw() % 800), [] { return std::string(150, 's'); });
    event_log.add(i); if (i % 250 == 249) queue.drain();
}

// DFHack: a server of commands with a thread for each connection
namespace tthread {
struct start_info { void (*function)(void *); void *arg; };
class thread {
public:
    pthread_t handle;
    bool joinable = true;
    thread(void (*function)(void *), void *arg) { pthread_attr_t a; pthread_attr_init(&a); pthread_attr_setstacksize(&a, 65536); pthread_create(&handle, &a, wrapper, new start_info{ function, arg }); pthread_attr_destroy(&a); }
private:
    static void *wrapper(void *p) { auto i = static_cast<start_info *>(p); i->function(i->arg); delete i; return nullptr; }
};
}
static std::atomic<int> served{0};
class ServerConnection {
public:
    static void Accepted(int i) { auto c = new ServerConnection(i); int before = served; auto t = new tthread::thread(threadFn, c); while (served == before) std::this_thread::yield(); t->joinable = false; }
private:
    explicit ServerConnection(int i) : name("connection " + std::to_string(i) + " to the server of commands"), reply(2000) {}
    static void threadFn(void *p) { auto c = static_cast<ServerConnection *>(p); for (int k = 0; k < 3; k++) { std::lock_guard<std::mutex> g(world); event_log.add(k); } delete c; served++; }
    std::string name;
    std::vector<char> reply;
};
static LruCache<std::vector<char>> tiles(250);
static void dfhack(int i, int) { std::vector<short> screen(80 * 25); { std::lock_guard<std::mutex> g(world); tiles.get((int)(draw() % 600), [] { return std::vector<char>(500 + draw() % 1500); }); frames.work(5); queue.push(i); if (i % 90 == 0) queue.drain(); } if (i % 8 == 0) ServerConnection::Accepted(i); }

// osquery: scheduled queries, some of which fail while they run.
static void *sqlite3Malloc(size_t n) { return malloc(n); }
struct sqlite3_stmt { char *sql; void *ops, *mem; };
static int sqlite3_prepare_v2(const char *sql, sqlite3_stmt **out) { auto p = static_cast<sqlite3_stmt *>(sqlite3Malloc(sizeof(sqlite3_stmt))); p->sql = strcpy(static_cast<char *>(sqlite3Malloc(strlen(sql) + 1)), sql), p->ops = sqlite3Malloc(24 * 40), p->mem = sqlite3Malloc(56 * 12), *out = p; return 0; }
static int sqlite3_step(sqlite3_stmt *, int i) { return i % 15 == 3 ? 1 : 101; }
static void sqlite3_finalize(sqlite3_stmt *p) { free(p->sql); free(p->ops); free(p->mem); free(p); }
namespace osquery {
typedef std::vector<std::map<std::string, std::string>> QueryData;
static int queryInternal(const std::string &query, QueryData &results, int i) {
    sqlite3_stmt *stmt = nullptr;
    if (sqlite3_prepare_v2(query.c_str(), &stmt)) return 1;
    for (int k = 0; k < 4; k++) results.push_back({ { "pid", std::to_string(i + k) }, { "path", "/usr/bin/a-program-of-the-system" } });
    if (int rc = sqlite3_step(stmt, i); rc != 101) return rc;
    sqlite3_finalize(stmt);
    return 0;
}
}
static std::map<std::string, osquery::QueryData> previous;
static void osqueryd(int i, int) {
    osquery::QueryData results;
    std::string name = "pack_of_queries_number_" + std::to_string(i % 120);
    if (osquery::queryInternal("SELECT pid, path FROM processes WHERE regex_match(path, '" + name + "', 0) IS NOT NULL;", results, i) == 0) previous[name] = results;
    event_log.add(i); queue.push(i); if (i % 333 == 0) queue.drain();
    pages.get(i % 900, [] { return std::string(200, 'o'); });
}

// websocketpp: an endpoint whose threads serve connections
class connection : public std::enable_shared_from_this<connection> {
public:
    explicit connection(int i) : m_id(i), m_read_buffer(400) {}
    void init() { auto self = shared_from_this(); m_async_read_handler = [self](size_t n) { self->handle_read(n); }; m_async_write_handler = [self] { self->handle_write(); }; }
    void handle_read(size_t n) { m_bytes += n; }
    void handle_write() { m_bytes++; }
    void terminate() { m_read_buffer.shrink_to_fit(); m_open = false; }
private:
    int m_id;
    bool m_open = true;
    size_t m_bytes = 0;
    std::vector<char> m_read_buffer;
    std::function<void(size_t)> m_async_read_handler;
    std::function<void()> m_async_write_handler;
};
class endpoint {
public:
    std::shared_ptr<connection> create_connection(int i) { auto c = std::make_shared<connection>(i); c->init(); return c; }
    void serve(int i) {
        std::string message(300 + (size_t)(i % 400), 'm');
        std::lock_guard<std::mutex> g(world);
        unsigned k = draw() % 100;
        if (open[k]) { open[k]->terminate(); open[k].reset(); } else if (i % 3 == 0) open[k] = create_connection(i);
        sent.push_back(message); if (sent.size() > 250) sent.pop_front();
    }
private:
    std::shared_ptr<connection> open[100];
    std::deque<std::string> sent;
};
static endpoint ws;
static void websocketpp(int i, int) { ws.serve(i); std::lock_guard<std::mutex> g(world); pages.get((int)(draw() % 750), [] { return std::string(100 + draw() % 500, 'w'); }); event_log.add(i); }

int main(int argc, char **argv) {
    static const struct { const char *name; void (*run)(int, int); int workers, rounds, settings; } cases[] = {
        { "ping", cuberite, 0, 6000, 300 }, { "peers", kagome, 3, 7500, 500 }, { "programs", tt_metal, 3, 6000, 200 }, { "landmark", openvslam, 0, 6000, 100 },
        { "timer", evpp, 0, 9000, 800 }, { "rpc", dfhack, 0, 4500, 1000 }, { "query", osqueryd, 0, 6000, 150 }, { "endpoint", websocketpp, 2, 9000, 400 }
    };
    for (auto &c : cases) {
        if (argc != 2 || strcmp(argv[1], c.name)) continue;
        drawn = (unsigned)(&c - cases) * 104729 + 11;
        config.load(c.settings);
        std::mutex turn;
        int next = 0, to = 0, idle = 0;
        bool over = false;
        auto work = [&](int w) { for (;;) { int i; { std::lock_guard<std::mutex> g(turn); if (over) return; if (next < to) i = next++; else { idle |= 1 << w; i = -1; } } if (i < 0) std::this_thread::yield(); else c.run(i, w); } };
        std::vector<std::thread> workers;
        for (int w = 0; w < c.workers; w++) workers.emplace_back(work, w);
        for (int step = 1; step <= 3; step++) {
            if (!c.workers) for (; next < c.rounds * step / 3; next++) c.run(next, 0);
            else {
                { std::lock_guard<std::mutex> g(turn); to = c.rounds * step / 3, idle = 0; }
                for (int all = (1 << c.workers) - 1, now = 0; now != all; std::this_thread::yield()) { std::lock_guard<std::mutex> g(turn); now = idle; }
            }
            raise(SIGUSR2);
        }
        { std::lock_guard<std::mutex> g(turn); over = true; }
        for (auto &w : workers) w.join();
        return 0;
    }
    return 2;
}
