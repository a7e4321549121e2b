// usage: containers CASE, a leak of each kind for tuning suspects: index, cycle, base, threads
#include <csignal>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

struct Index { std::map<std::string, std::vector<int>> rows; void add_row(int i) { rows["row " + std::to_string(i)].push_back(i); } };
static Index index_;
struct Peer { std::shared_ptr<Peer> other; std::vector<char> buffer; explicit Peer(size_t n) : buffer(n) {} };
static void connect_peers(int i) { auto a = std::make_shared<Peer>(100 + i % 50), b = std::make_shared<Peer>(30); a->other = b; b->other = a; }
struct Shape { int kind = 0; ~Shape() {} };
struct Polygon : Shape { std::vector<double> points; explicit Polygon(int i) : points(10 + i % 7) {} };
static void draw_polygon(int i) { Shape *s = new Polygon(i); delete s; }
static std::mutex lock; static std::deque<std::string> results;
static void publish_result(int i) { std::lock_guard<std::mutex> g(lock); results.push_back("result of a long request " + std::to_string(i)); }

static std::unordered_map<int, std::string> cache;
static void look_up(int i) { cache[i * 31 % 900] = "some cached text that is long enough " + std::to_string(i); }
static std::vector<std::string> batch;
static void collect_batch(int i) { batch.push_back(std::string(40 + i % 30, 'b')); if (batch.size() == 1700) batch.clear(); }

int main(int, char **argv) {
    std::string which = argv[1];
    for (int step = 0; step < 3; step++) {
        auto work = [&](int from, int to) {
            for (int i = from; i < to; i++) {
                if (which == "index") index_.add_row(i);
                if (which == "cycle") connect_peers(i);
                if (which == "base") draw_polygon(i);
                if (which == "threads") publish_result(i);
            }
        };
        std::thread t([&] { work(step * 2000, step * 2000 + 1000); });
        for (int i = step * 2000; i < step * 2000 + 2000; i++) look_up(i), collect_batch(i);
        t.join();
        work(step * 2000 + 1000, step * 2000 + 2000);
        raise(SIGUSR2);
    }
}
