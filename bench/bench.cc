// Benchmarks: ours and the peers' at the same work in the same run, with the ratio.
//
//     make bench                                        all but the largest
//     make bench BENCH_ARGS=--benchmark_filter=export   a part of it; =. is all of it
//     make bench-all                                    all of it, then whole programs (programs.py)
//
// A benchmark is called "comparison|who". The table at the end puts benchmarks of one comparison side by side, as
// ratios to "ours". Each figure is the fastest repetition, in CPU time. Repetitions of all benchmarks run in random
// order: other load on the machine only adds time, and affects all of them alike. This takes a few minutes; all
// benchmarks together need 6 GB of memory.

#define HEAPDUMP_IMPLEMENTATION
#include "../heapdump.h"
#include "../tests/dart.h"
#include "../tests/graphs.h"
#include "../tests/memprof.h"

#include <absl/container/flat_hash_map.h>
#include <benchmark/benchmark.h>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/compressed_sparse_row_graph.hpp>
#include <boost/unordered/unordered_flat_map.hpp>

// Boost's most compact graph, and the one missing function without which it does not find dominators.
using BoostGraph = boost::compressed_sparse_row_graph<boost::bidirectionalS, boost::no_property, boost::no_property,
                                                      boost::no_property, uint32_t, uint32_t>;
namespace boost {
inline uint32_t degree(uint32_t v, const BoostGraph &g) { return out_degree(v, g) + in_degree(v, g); }
}
#include <boost/graph/dominator_tree.hpp>
#include <malloc.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <unordered_map>
#include <vector>

// Bytes that a peer allocated in this thread, with malloc's own word for each block.
static thread_local size_t peer_bytes;
static void *counted_realloc(void *block, size_t size) {
    if (block) peer_bytes -= malloc_usable_size(block) + sizeof(size_t);
    block = std::realloc(block, size);
    if (block) peer_bytes += malloc_usable_size(block) + sizeof(size_t);
    return block;
}
static void counted_free(void *block) {
    if (block) peer_bytes -= malloc_usable_size(block) + sizeof(size_t);
    std::free(block);
}

// A program's own stb_ds, separate from the private one in heapdump.h.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#define STBDS_REALLOC(context, block, size) counted_realloc(block, size)
#define STBDS_FREE(context, block) counted_free(block)
#define STBDS_NO_SHORT_NAMES
#define STB_DS_IMPLEMENTATION
#include "stb_ds.h"
#pragma GCC diagnostic pop

namespace {

[[noreturn]] void die(const char *what) {
    std::fprintf(stderr, "bench: %s\n", what);
    std::abort();
}
void must(bool ok, const char *what) {
    if (!ok) die(what);
}

// The same numbers in every run.
struct Random {
    uint64_t state;
    uint64_t next() {
        uint64_t x = state += 0x9e3779b97f4a7c15u;
        x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
        x = (x ^ x >> 27) * 0x94d049bb133111ebu;
        return x ^ x >> 31;
    }
    uint64_t below(uint64_t n) { return next() % n; }
    double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }
    // 0 .. n - 1, k with weight about 1 / (k + 1): Zipf's law.
    uint64_t zipf(uint64_t n) {
        return std::min(n - 1, static_cast<uint64_t>(std::pow(static_cast<double>(n) + 1, unit())) - 1);
    }
};

// ------------------------------------------------------------------------------------ the table

std::vector<std::string> comparisons;  // in order of registration

benchmark::internal::Benchmark *compare(const std::string &what, const char *who,
                                        std::function<void(benchmark::State &)> run) {
    if (std::find(comparisons.begin(), comparisons.end(), what) == comparisons.end()) comparisons.push_back(what);
    return benchmark::RegisterBenchmark((what + "|" + who).c_str(), run);
}

// Prints a line on stderr after each benchmark, and at the end a line for each pair.
class Table : public benchmark::BenchmarkReporter {
  public:
    bool ReportContext(const Context &) override { return true; }

    void ReportRuns(const std::vector<Run> &runs) override {
        std::vector<double> values;
        for (const Run &run : runs) {
            if (run.error_occurred) die(run.error_message.c_str());
            if (run.run_type == Run::RT_Iteration) values.push_back(value(run));
        }
        if (values.empty()) return;  // the library's own aggregates
        const Run &run = runs.front();
        const std::string name = run.run_name.function_name;
        const size_t bar = name.rfind('|');
        Line line;
        line.who = name.substr(bar + 1);
        line.value = *std::min_element(values.begin(), values.end());
        line.spread = *std::max_element(values.begin(), values.end()) / line.value - 1;
        line.input = run.counters.count("MB") ? run.counters.at("MB").value : 0;
        line.bytes = run.counters.count("bytes") != 0;
        results[name.substr(0, bar)].push_back(line);
        std::fprintf(stderr, "%3d  %-44s %-26s %11s\n", ++done, name.substr(0, bar).c_str(), line.who.c_str(),
                     line.text().c_str());
    }

    void Finalize() override {
        std::printf("\n%-44s %11s   %-26s %11s %9s   %s\n", "", "ours", "peer", "peer's", "ratio", "spread");
        for (const std::string &what : comparisons) {
            std::vector<Line> &lines = results[what];
            std::sort(lines.begin(), lines.end(), [](const Line &a, const Line &b) { return a.who < b.who; });
            for (const Line &ours : lines)
                for (const Line &peer : lines)
                    if (ours.who == "ours" && peer.who != "ours")
                        std::printf("%-44s %11s   %-26s %11s %9.*f   %2.0f%% %2.0f%%\n", what.c_str(), ours.text().c_str(),
                                    peer.who.c_str(), peer.text().c_str(), peer.value < 0.1 * ours.value ? 4 : 2,
                                    peer.value / ours.value, 100 * ours.spread, 100 * peer.spread);
        }
        bool first = true;
        for (const std::string &what : comparisons) {
            const std::vector<Line> &lines = results[what];
            const size_t ours = static_cast<size_t>(
                std::count_if(lines.begin(), lines.end(), [](const Line &line) { return line.who == "ours"; }));
            if (ours && ours < lines.size()) continue;
            for (const Line &line : lines) {
                if (first) std::printf("\n%-44s\n", "without a peer:");
                first = false;
                std::printf("%-44s %11s   %-26s %11s %9s   %2.0f%%\n", what.c_str(), line.text().c_str(),
                            line.who == "ours" ? "" : line.who.c_str(), "", "", 100 * line.spread);
            }
        }
        std::printf("\nratio: the peer's time (or bytes) over ours; above 1, ours is the better.\n"
                    "spread: how much longer the slowest repetition took than the fastest; ours, peer's.\n");
        std::fflush(stdout);
    }

  private:
    struct Line {
        std::string who;
        double value = 0, spread = 0;  // value: nanoseconds, or bytes
        double input = 0;              // megabytes of input of one operation; 0: not shown
        bool bytes = false;

        std::string text() const {
            char s[32];
            if (bytes) std::snprintf(s, sizeof s, "%.1f B", value);
            else if (input > 0) std::snprintf(s, sizeof s, "%.0f MB/s", input / value * 1e9);
            else if (value < 1e4) std::snprintf(s, sizeof s, "%.2f ns", value);
            else if (value < 1e6) std::snprintf(s, sizeof s, "%.1f us", value / 1e3);
            else std::snprintf(s, sizeof s, "%.2f ms", value / 1e6);
            return s;
        }
    };
    std::map<std::string, std::vector<Line>> results;
    int done = 0;

    static double value(const Run &run) {
        if (run.counters.count("bytes")) return run.counters.at("bytes");
        const bool manual = run.run_name.time_type == "manual_time";
        return (manual ? run.real_accumulated_time : run.cpu_accumulated_time) /
               static_cast<double>(run.iterations) * 1e9;
    }
};

// ------------------------------------------------------------------------------------- register
// The register as a malloc hook uses it, with addresses from a real malloc. Peers: stb_ds, the library's own
// dependency, which our register must clearly beat; std::unordered_map, the first choice of a C++ programmer; and two
// open-addressing maps that count as the fastest.

struct Block {
    uint64_t address, size;
};
struct Step {  // a random live block is freed, another is allocated
    uint64_t freed;
    Block block;
};

constexpr size_t kFew = 300000, kMany = 3000000, kMost = 10000000;  // live blocks
constexpr size_t kSteps = 900000, kLookups = 500000;
constexpr int kRepetitions = 3;

// A program with n live blocks, recorded from its malloc.
struct Program {
    size_t n;
    Block *live;                      // in order of allocation
    uint64_t *freed;                  // n more addresses in between, already freed
    Step *steps;                      // the next kSteps of them
    std::vector<uint64_t> hits, misses;  // kLookups in random order

    // Runs in its own process, so that the heap of the peers stays unchanged.
    explicit Program(size_t count) : n(count) {
        const size_t size = n * sizeof *live + n * sizeof *freed + kSteps * sizeof *steps;
        void *shared = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        must(shared != MAP_FAILED, "no memory for a list of addresses");
        live = static_cast<Block *>(shared);
        steps = reinterpret_cast<Step *>(live + n);
        freed = reinterpret_cast<uint64_t *>(steps + kSteps);
        const pid_t child = fork();
        if (!child) {
            run();
            _exit(0);
        }
        int status = 1;
        must(child > 0 && waitpid(child, &status, 0) == child && status == 0, "the program that allocates failed");
        Random random{n};
        for (size_t i = 0; i < kLookups; i++) hits.push_back(live[random.below(n)].address);
        for (size_t i = 0; i < kLookups; i++) misses.push_back(freed[random.below(n)]);
    }
    Program(const Program &) = delete;

  private:
    // Mostly small, with a tail that malloc serves from mmap: 200 bytes on average.
    static Block allocate(Random &random) {
        const uint64_t dice = random.below(10000);
        const uint64_t size = dice < 5500   ? 1 + random.below(64)
                              : dice < 8500 ? 64 + random.below(192)
                              : dice < 9850 ? 256 + random.below(768)
                              : dice < 9999 ? 1024 + random.below(7168)
                                            : 131072 + random.below(131072);
        void *block = std::malloc(size);
        must(block != nullptr, "malloc failed");
        return {reinterpret_cast<uintptr_t>(block), size};
    }

    void run() {
        Random random{42};
        std::vector<Block> blocks;
        for (size_t i = 0; i < 2 * n; i++) blocks.push_back(allocate(random));
        size_t kept = 0, gone = 0;
        for (const Block &block : blocks) {
            const size_t left = 2 * n - kept - gone;
            if (random.below(left) < n - kept) {
                live[kept++] = block;
            } else {
                freed[gone++] = block.address;
                std::free(reinterpret_cast<void *>(block.address));
            }
        }
        blocks.assign(live, live + n);
        for (size_t i = 0; i < kSteps; i++) {
            Block &block = blocks[random.below(n)];
            steps[i].freed = block.address;
            std::free(reinterpret_cast<void *>(block.address));
            steps[i].block = block = allocate(random);
        }
        for (const Block &block : blocks) std::free(reinterpret_cast<void *>(block.address));
    }
};

const Program &program(size_t n) {
    static std::map<size_t, Program> programs;
    return programs.try_emplace(n, n).first->second;
}

// The same for all: a removal returns the value, because a recorder needs it.
struct Value {
    uint64_t size;
    uint32_t context, time;
};

class Ours {
  public:
    Ours() : reg(hd_register_create(nullptr)) {}
    ~Ours() { hd_register_free(reg); }
    Ours(const Ours &) = delete;
    void insert(const Block &b, uint32_t i) {
        const hd_allocation a = {b.address, b.size, i & 0xffff, i};
        must(hd_register_insert(reg, &a, nullptr) == HD_OK, "hd_register_insert failed");
    }
    bool find(uint64_t address, Value *found) const {
        hd_allocation a;
        if (!hd_register_find(reg, address, &a)) return false;
        *found = {a.size, a.context, a.time};
        return true;
    }
    bool remove(uint64_t address, Value *removed) {
        hd_allocation a;
        if (!hd_register_remove(reg, address, &a)) return false;
        *removed = {a.size, a.context, a.time};
        return true;
    }
    size_t count() const { return hd_register_count(reg); }
    size_t bytes() const { return hd_register_memory(reg).resident; }

  private:
    hd_register *reg;
};

class Stb {
  public:
    ~Stb() { stbds_hmfree(map); }
    void insert(const Block &b, uint32_t i) {
        const Value value = {b.size, i & 0xffff, i};
        stbds_hmput(map, b.address, value);
    }
    bool find(uint64_t address, Value *found) {
        const Entry *entry = stbds_hmgetp_null(map, address);
        if (!entry) return false;
        *found = entry->value;
        return true;
    }
    bool remove(uint64_t address, Value *removed) { return find(address, removed) && stbds_hmdel(map, address); }
    size_t count() const { return stbds_hmlenu(map); }
    size_t bytes() const { return peer_bytes; }

  private:
    struct Entry {
        uint64_t key;
        Value value;
    };
    Entry *map = nullptr;
};

template <class T>
struct Counting {
    using value_type = T;
    Counting() = default;
    template <class U>
    Counting(const Counting<U> &) {}
    T *allocate(size_t n) {
        T *p = static_cast<T *>(counted_realloc(nullptr, n * sizeof(T)));
        must(p != nullptr, "no memory for a peer");
        return p;
    }
    void deallocate(T *p, size_t) { counted_free(p); }
    bool operator==(const Counting &) const { return true; }
    bool operator!=(const Counting &) const { return false; }
};

// A map with the interface of the standard map, and its own hash.
template <template <class...> class Map, class Hash>
class Standard {
  public:
    void insert(const Block &b, uint32_t i) { map.insert_or_assign(b.address, Value{b.size, i & 0xffff, i}); }
    bool find(uint64_t address, Value *found) const {
        const auto at = map.find(address);
        if (at == map.end()) return false;
        *found = at->second;
        return true;
    }
    bool remove(uint64_t address, Value *removed) {
        const auto at = map.find(address);
        if (at == map.end()) return false;
        *removed = at->second;
        map.erase(at);
        return true;
    }
    size_t count() const { return map.size(); }
    size_t bytes() const { return peer_bytes; }

  private:
    Map<uint64_t, Value, Hash, std::equal_to<uint64_t>, Counting<std::pair<const uint64_t, Value>>> map;
};
using Unordered = Standard<std::unordered_map, std::hash<uint64_t>>;
using Absl = Standard<absl::flat_hash_map, absl::Hash<uint64_t>>;
using Boost = Standard<boost::unordered_flat_map, boost::hash<uint64_t>>;

template <class Map>
void fill(Map &map, const Program &p) {
    for (size_t i = 0; i < p.n; i++) map.insert(p.live[i], static_cast<uint32_t>(i));
}

// A register with all live blocks, kept from one benchmark to the next, since filling it takes longer than the
// measurement. One such register stays unchanged, and one ages step by step.
template <class Map>
struct Filled {
    Map map;
    const Step *step;

    explicit Filled(const Program &p) : step(p.steps) {
        malloc_trim(0);
        fill(map, p);
    }
};
template <class Map>
Filled<Map> &filled(const Program &p, bool ages) {
    static std::map<std::pair<size_t, bool>, Filled<Map>> all;
    return all.try_emplace({p.n, ages}, p).first->second;
}

// Inserts all live blocks into an empty register, in the order of their allocation.
template <class Map>
void register_fill(benchmark::State &state, const Program &p) {
    Map map;
    malloc_trim(0);
    while (state.KeepRunningBatch(static_cast<benchmark::IterationCount>(p.n))) fill(map, p);
    must(map.count() == p.n, "blocks are missing");
}

// Frees a random block and allocates another, mostly at a freed address.
template <class Map>
void register_churn(benchmark::State &state, const Program &p) {
    Filled<Map> &aging = filled<Map>(p, true);
    const Step *step = aging.step;
    uint32_t time = 0;
    size_t missing = 0;
    for (auto _ : state) {
        Value freed;
        missing += !aging.map.remove(step->freed, &freed);
        benchmark::DoNotOptimize(freed);
        aging.map.insert(step->block, time++);
        step++;
    }
    must(!missing && aging.map.count() == p.n && step <= p.steps + kSteps, "the register lost blocks");
    aging.step = step;
}

// Looks addresses up: all of them live (hits), or none (misses).
template <class Map>
void register_find(benchmark::State &state, const Program &p, const std::vector<uint64_t> &addresses, bool hit) {
    Map &map = filled<Map>(p, false).map;
    const uint64_t *address = addresses.data();
    size_t found = 0;
    for (auto _ : state) {
        Value value;
        found += map.find(*address++, &value);
        benchmark::DoNotOptimize(value);
    }
    must(found == (hit ? addresses.size() : 0), "a look-up went wrong");
}

// The longest time that a single allocation takes while the register grows from empty. A first run finds the slow
// allocations by the wall clock, which is cheap to read. Four more equal runs measure the CPU time of only these, and
// the least of each counts, because the machine's host delays other allocations each time.
int64_t nanoseconds(clockid_t clock) {
    timespec t;
    clock_gettime(clock, &t);
    return int64_t{t.tv_sec} * 1000000000 + t.tv_nsec;
}

template <class Map>
struct Grown {
    int64_t slowest = 0;
    double bytes_each;  // reported by the structure; for peers, by the allocator

    explicit Grown(const Program &p) {
        std::vector<int64_t> first(p.n);
        for (int run = 0; run < 5; run++) {
            Map map;
            malloc_trim(0);
            const size_t before = map.bytes();
            for (size_t i = 0; i < p.n; i++) {
                const bool timed = run == 0 || first[i] > 20000;
                const clockid_t clock = run == 0 ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID;
                const int64_t start = timed ? nanoseconds(clock) : 0;
                map.insert(p.live[i], static_cast<uint32_t>(i));
                const int64_t took = timed ? nanoseconds(clock) - start : 0;
                if (timed) first[i] = run == 0 ? took : std::min(took, first[i]);
            }
            bytes_each = static_cast<double>(map.bytes() - before) / static_cast<double>(p.n);
        }
        slowest = *std::max_element(first.begin(), first.end());
    }
};
template <class Map>
const Grown<Map> &grown(size_t n) {
    static std::map<size_t, Grown<Map>> all;
    return all.try_emplace(n, program(n)).first->second;
}

template <class Map>
void register_slowest(benchmark::State &state, size_t n) {
    for (auto _ : state) state.SetIterationTime(static_cast<double>(grown<Map>(n).slowest) * 1e-9);
}

template <class Map>
void register_account(benchmark::State &state, size_t n) {
    for (auto _ : state) state.counters["bytes"] = grown<Map>(n).bytes_each;
}

std::string live(size_t n) {
    return "register, " + (n >= 1000000 ? std::to_string(n / 1000000) + "M" : std::to_string(n / 1000) + "k") + " live: ";
}

template <class Map>
void add_register(const char *who, size_t n) {
    using State = benchmark::State;
    const std::string in = live(n);
    compare(in + "free + alloc", who, [=](State &s) { register_churn<Map>(s, program(n)); })
        ->Iterations(kSteps / kRepetitions)->Repetitions(kRepetitions);
    compare(in + "look-up, hit", who, [=](State &s) { register_find<Map>(s, program(n), program(n).hits, true); })
        ->Iterations(kLookups)->Repetitions(kRepetitions);
    compare(in + "look-up, miss", who, [=](State &s) { register_find<Map>(s, program(n), program(n).misses, false); })
        ->Iterations(kLookups)->Repetitions(kRepetitions);
    compare(in + "insert, from empty", who, [=](State &s) { register_fill<Map>(s, program(n)); })
        ->Iterations(static_cast<benchmark::IterationCount>(n))->Repetitions(2);
}

// Bytes that remain per block of the peak, after 9 of 10 blocks were freed at random.
template <class Map>
void register_drained(benchmark::State &state, const Program &p) {
    std::vector<uint64_t> order;
    Random random{p.n};
    Value freed;
    for (size_t i = 0; i < p.n; i++) order.push_back(p.live[i].address);
    for (size_t i = p.n; i > 1; i--) std::swap(order[i - 1], order[random.below(i)]);
    for (auto _ : state) {
        Map map;
        const size_t before = map.bytes();
        fill(map, p);
        for (size_t i = 0; i < p.n / 10 * 9; i++) must(map.remove(order[i], &freed), "a block is missing");
        state.counters["bytes"] = static_cast<double>(map.bytes() - before) / static_cast<double>(p.n);
    }
}

template <class Map>
void add_growing(const char *who, size_t n) {
    using State = benchmark::State;
    compare(live(n) + "slowest insert", who, [=](State &s) { register_slowest<Map>(s, n); })->Iterations(1)->UseManualTime();
    compare(live(n) + "bytes each", who, [=](State &s) { register_account<Map>(s, n); })->Iterations(1);
    compare(live(n) + "bytes each, 9 of 10 freed", who, [=](State &s) { register_drained<Map>(s, program(n)); })->Iterations(1);
}

// The malloc calls of a real program, recorded by register_traces.py.
struct Trace {
    std::string name;
    std::vector<Block> events;  // size UINT64_MAX: the block is freed
    size_t most = 0, peak = 0;  // the most live blocks, and the number of events up to then

    explicit Trace(const std::filesystem::path &path) : name(path.stem()), events(std::filesystem::file_size(path) / sizeof(Block)) {
        std::ifstream in(path, std::ios::binary);
        in.read(reinterpret_cast<char *>(events.data()), static_cast<std::streamsize>(events.size() * sizeof(Block)));
        must(in.good(), "a trace cannot be read");
        Boost live;
        Value freed;
        for (size_t i = 0; i < events.size(); i++) {
            if (events[i].size == UINT64_MAX) live.remove(events[i].address, &freed);
            else live.insert(events[i], 0);
            if (live.count() > most) most = live.count(), peak = i + 1;
        }
    }
};

// Read when the first benchmark needs them; empty if no directory was given.
const std::vector<Trace> &traces() {
    static const std::vector<Trace> all = [] {
        std::vector<Trace> found;
        const char *place = std::getenv("HEAPDUMP_TRACES");
        if (!place) return found;
        for (const auto &file : std::filesystem::directory_iterator(place))
            if (file.path().extension() == ".trace") found.emplace_back(file.path());
        return found;
    }();
    return all;
}

template <class Map>
void replay(Map &map, const Trace &t, size_t events) {
    Value freed;
    for (size_t i = 0; i < events; i++) {
        if (t.events[i].size == UINT64_MAX) map.remove(t.events[i].address, &freed);
        else map.insert(t.events[i], 0);
    }
    benchmark::DoNotOptimize(freed);
}

template <class Map>
void register_trace(benchmark::State &state, const Trace &t) {
    Map map;
    malloc_trim(0);
    while (state.KeepRunningBatch(static_cast<benchmark::IterationCount>(t.events.size()))) replay(map, t, t.events.size());
}

template <class Map>
void register_trace_account(benchmark::State &state, const Trace &t) {
    Map map;
    const size_t before = map.bytes();
    for (auto _ : state) replay(map, t, t.peak);
    must(map.count() == t.most, "blocks are missing");
    state.counters["bytes"] = static_cast<double>(map.bytes() - before) / static_cast<double>(t.most);
}

// As in a recorder: shards with a lock each, chosen by the address in units of 1 MiB.
template <class Map>
class Shards {
  public:
    void apply(const Block &b) {
        Shard &shard = shards[((b.address >> 20) + (b.address >> 26)) % kShards];
        const std::lock_guard<std::mutex> locked(shard.lock);
        Value freed;
        if (b.size == UINT64_MAX) shard.map.remove(b.address, &freed);
        else shard.map.insert(b, 0);
    }
    size_t count() const {
        size_t sum = 0;
        for (const Shard &shard : shards) sum += shard.map.count();
        return sum;
    }

  private:
    static constexpr size_t kShards = 16;
    struct alignas(128) Shard {
        std::mutex lock;
        Map map;
    };
    Shard shards[kShards];
};

// Threads that do the same at the same time, at addresses of their own, like glibc's arenas. Measures the CPU time of
// an operation, which grows if threads wait for each other's cache lines.
template <class Map>
void register_shards(benchmark::State &state, const std::vector<Block> &events, size_t most, unsigned threads) {
    const size_t n = std::min(events.size(), most);
    Shards<Map> shards;
    malloc_trim(0);
    while (state.KeepRunningBatch(static_cast<benchmark::IterationCount>(threads * n))) {
        std::atomic<unsigned> ready{0};
        std::atomic<int64_t> sum{0};
        std::vector<std::thread> running;
        for (unsigned t = 0; t < threads; t++)
            running.emplace_back([&, t] {
                ready++;
                while (ready < threads) std::this_thread::yield();
                const int64_t began = nanoseconds(CLOCK_THREAD_CPUTIME_ID);
                for (size_t i = 0; i < n; i++) shards.apply({events[i].address + t * ((1ull << 37) + (1ull << 26)), events[i].size});
                sum += nanoseconds(CLOCK_THREAD_CPUTIME_ID) - began;
            });
        for (std::thread &thread : running) thread.join();
        state.SetIterationTime(static_cast<double>(sum) * 1e-9);
    }
    must(shards.count() > 0, "blocks are missing");
}

// A program that frees random blocks, as a trace.
const std::vector<Block> &random_victims() {
    static const std::vector<Block> events = [] {
        const Program &p = program(kFew);
        std::vector<Block> all(p.live, p.live + p.n);
        for (size_t i = 0; i < kSteps; i++) {
            all.push_back({p.steps[i].freed, UINT64_MAX});
            all.push_back(p.steps[i].block);
        }
        return all;
    }();
    return events;
}

template <class Map>
void add_shards(const char *who) {
    constexpr size_t kEvents = 1000000;
    const auto add = [&](const std::string &what, std::function<const std::vector<Block> &()> events, size_t n) {
        for (unsigned threads : {1u, 2u, 4u})
            compare("register, " + what + ", 16 shards, threads: " + std::to_string(threads), who,
                    [=](benchmark::State &s) { register_shards<Map>(s, events(), kEvents, threads); })
                ->Iterations(static_cast<benchmark::IterationCount>(threads * std::min(n, kEvents)))->UseManualTime()->Repetitions(3);
    };
    add("300k live", random_victims, kFew + 2 * kSteps);
    for (const Trace &t : traces())
        add("trace of " + t.name, [&t]() -> const std::vector<Block> & { return t.events; }, t.events.size());
}

template <class Map>
void add_traces(const char *who) {
    using State = benchmark::State;
    for (const Trace &t : traces()) {
        const std::string what = "register, trace of " + t.name;
        compare(what, who, [&t](State &s) { register_trace<Map>(s, t); })
            ->Iterations(static_cast<benchmark::IterationCount>(t.events.size()))->Repetitions(5);
        compare(what + ", bytes each of " + std::to_string(t.most), who, [&t](State &s) { register_trace_account<Map>(s, t); })
            ->Iterations(1);
    }
}

template <class Map>
void add_map(const char *who) {
    for (size_t n : {kFew, kMany}) add_register<Map>(who, n);
    for (size_t n : {kFew, kMost}) add_growing<Map>(who, n);
    add_traces<Map>(who);
    add_shards<Map>(who);
}

// ------------------------------------------------------------------------------- synthetic heap
// A heap like a real one: 35,355 contexts (the number in the largest program of the MemProf RFC), each a backtrace of
// up to 48 frames and one of 500 types. A backtrace branches off an earlier one some frames above its end, and
// follows a call graph: each function calls few others often and some seldom. This makes about five new frames per
// context. Most nodes have one child, and a few have twenty. Sizes follow Zipf's law.

constexpr uint32_t kContexts = 35355, kTypes = 500, kFunctions = 4000, kDepth = 48;

struct Cell {
    uint32_t node, type;  // type 0: the root
    uint64_t bytes, blocks;
};

struct Heap {
    std::vector<uint32_t> parent{HD_NONE};  // of backtrace nodes; parents come first
    std::vector<std::string> name{""};
    std::vector<std::string> type{""};      // by number
    std::vector<Cell> cells;

    Heap() {
        Random random{7};
        std::vector<std::vector<uint32_t>> calls(kFunctions);
        for (auto &callees : calls)
            for (uint64_t n = 1 + random.zipf(24); n; n--) callees.push_back(static_cast<uint32_t>(random.below(kFunctions)));
        for (uint32_t t = 1; t <= kTypes; t++) type.push_back("blink::Type" + std::to_string(t));

        std::vector<uint32_t> function{0}, depth{0};                    // by node
        std::map<std::pair<uint32_t, uint32_t>, uint32_t> nodes, seen;  // by (parent, function); by (node, type)
        while (cells.size() < kContexts) {
            uint32_t node = cells.empty() ? 0 : cells[random.below(cells.size())].node;
            while (node && (depth[node] == kDepth || random.below(7))) node = parent[node];
            do {
                const auto &callees = calls[function[node]];
                const uint32_t callee = callees[random.zipf(callees.size())];
                const auto [at, added] = nodes.try_emplace({node, callee}, static_cast<uint32_t>(parent.size()));
                if (added) {
                    parent.push_back(node);
                    function.push_back(callee);
                    depth.push_back(depth[node] + 1);
                    name.push_back("blink::Class" + std::to_string(callee / 8) + "::Method" + std::to_string(callee % 8));
                }
                node = at->second;
            } while (depth[node] < kDepth && (depth[node] < 12 || random.below(6)));
            // A function allocates a few types; many functions allocate the common types.
            Random choice{function[node] * 4 + random.zipf(4)};
            const uint32_t allocated = 1 + static_cast<uint32_t>(choice.zipf(kTypes));
            if (seen.try_emplace({node, allocated}, 0).second) cells.push_back({node, allocated, 0, 0});
        }
        for (size_t i = cells.size(); i > 1; i--) std::swap(cells[i - 1], cells[random.below(i)]);
        for (size_t i = 0; i < cells.size(); i++) {
            const uint64_t block = 8 * (1 + random.zipf(512));
            cells[i].blocks = 1 + (200 << 20) / block / (i + 1);
            cells[i].bytes = cells[i].blocks * block;
        }
        for (size_t i = cells.size(); i > 1; i--) std::swap(cells[i - 1], cells[random.below(i)]);
    }

    hd_profile *profile() const {
        hd_profile *p = hd_profile_create(nullptr, nullptr);
        std::vector<uint32_t> node(parent.size()), kind(type.size());
        for (uint32_t i = 1; i < parent.size(); i++)
            must(!hd_profile_node(p, HD_AXIS_BACKTRACE, node[parent[i]], hd_cstr(name[i].c_str()), &node[i], NULL), "no node");
        for (uint32_t t = 1; t < type.size(); t++)
            must(!hd_profile_node(p, HD_AXIS_TYPE, 0, hd_cstr(type[t].c_str()), &kind[t], NULL), "no node");
        for (const Cell &cell : cells) {
            const uint32_t at[2] = {node[cell.node], kind[cell.type]};
            must(!hd_profile_add(p, at, cell.bytes, cell.blocks, NULL), "no cell");
        }
        return p;
    }
};

const Heap &heap() {
    static const Heap made;
    return made;
}
const hd_profile *profile() {
    static const hd_profile *made = heap().profile();
    return made;
}

// -------------------------------------------------------------------------------------- tracker
// The work of the tracker at an allocation: find the current context. Peer: the method of Chromium's tracker. It
// copied the frames of the pseudo-stack into the context, 48 pointers here, and its register hashed them to find the
// number of the context. (Its hash was slower than the one here, and the search for the number is left out.)

struct PlainStack {
    const char *frames[kDepth];
    size_t depth = 0;
};
thread_local PlainStack plain_stack;
std::atomic<bool> plain_on{true};

struct PlainContext {
    const char *frames[kDepth];
    size_t depth;
    const char *type;
};

__attribute__((noinline)) uint64_t plain_snapshot(const char *type) {
    PlainContext context;
    context.depth = plain_stack.depth;
    std::memcpy(context.frames, plain_stack.frames, context.depth * sizeof *context.frames);
    context.type = type;
    benchmark::DoNotOptimize(&context);  // the copy is part of the work: the register keeps it
    benchmark::ClobberMemory();
    uint64_t hash = reinterpret_cast<uintptr_t>(context.type);
    for (size_t i = 0; i < context.depth; i++) {
        hash = (hash ^ reinterpret_cast<uintptr_t>(context.frames[i])) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 32;
    }
    return hash;
}

__attribute__((noinline)) bool plain_push(const char *name) {
    PlainStack &stack = plain_stack;
    if (stack.depth == kDepth) return false;
    stack.frames[stack.depth++] = name;
    return true;
}
__attribute__((noinline)) void plain_pop() { plain_stack.depth--; }

// A running tracker with `depth` scopes open on both stacks, and the number of contexts of a real program.
class Tracker {
  public:
    explicit Tracker(uint32_t depth) : contexts(hd_contexts_create(nullptr)) {
        const Heap &h = heap();
        std::vector<uint32_t> node(h.parent.size());
        for (uint32_t i = 1; i < node.size(); i++)
            must(!hd_contexts_child(contexts, node[h.parent[i]], HD_FRAME_NAME, h.name[i].c_str(), &node[i]), "no context");
        hd_tracker_desc desc = {};
        desc.contexts = contexts;
        desc.max_frames = kDepth;
        must(!hd_tracker_start(&desc, nullptr), "no tracker");
        for (uint32_t i = 0; i < depth; i++) {
            hd_scope_begin(&category, h.name[i + 1].c_str());
            plain_push(h.name[i + 1].c_str());
        }
        must(hd_tracker_depth() == depth && plain_stack.depth == depth, "scopes were not entered");
        Random random{1};
        for (uint32_t i = 0; i < 256; i++) types[i] = h.type[1 + random.zipf(kTypes)].c_str();
        for (uint32_t i = 0; i < 64; i++) names[i] = h.name[1 + random.below(h.name.size() - 1)].c_str();
    }
    ~Tracker() {
        hd_tracker_stop();
        hd_contexts_free(contexts);
        plain_stack.depth = 0;
    }
    Tracker(const Tracker &) = delete;

    const char *type(size_t i) const { return types[i % 256]; }
    const char *name(size_t i) const { return names[i % 64]; }

  private:
    hd_contexts *contexts;
    hd_category category = {"bench", 0};
    const char *types[256], *names[64];
};

// Not inlined, like a function of another source file.
__attribute__((noinline)) uint32_t our_snapshot(const char *type) { return hd_tracker_snapshot(type); }

template <class Snapshot>
void tracker_snapshot(benchmark::State &state, bool typed, Snapshot snapshot) {
    Tracker tracker(kDepth);
    size_t i = 0;
    for (auto _ : state) {
        benchmark::DoNotOptimize(snapshot(typed ? tracker.type(i++) : nullptr));
        benchmark::ClobberMemory();
    }
}

// Enters and leaves a scope, below 24 scopes.
void tracker_scope(benchmark::State &state, bool on) {
    Tracker tracker(24);
    hd_tracker_set_recording(on);
    for (auto _ : state) {
        HD_SCOPE("bench", "Block");
        benchmark::ClobberMemory();
    }
}

// The same with another caller each time, so that the last context of the place is never the right one.
void tracker_scopes(benchmark::State &state, bool) {
    Tracker tracker(24);
    size_t i = 0;
    for (auto _ : state) {
        HD_SCOPE_NAMED("bench", tracker.name(i++));
        benchmark::ClobberMemory();
    }
}

void plain_scope(benchmark::State &state, bool on) {
    Tracker tracker(24);
    size_t i = 0;
    plain_on = on;
    for (auto _ : state) {
        const char *name = tracker.name(i++);
        const bool pushed = plain_on.load(std::memory_order_relaxed) && plain_push(name);
        benchmark::ClobberMemory();
        if (pushed) plain_pop();
    }
}

void add_tracker() {
    for (bool typed : {false, true}) {
        const std::string what = typed ? "tracker: snapshot at depth 48 with a type" : "tracker: snapshot at depth 48";
        compare(what, "ours", [=](benchmark::State &s) { tracker_snapshot(s, typed, our_snapshot); })->MinTime(0.05)->Repetitions(kRepetitions);
        compare(what, "copy 48 and hash", [=](benchmark::State &s) { tracker_snapshot(s, typed, plain_snapshot); })
            ->MinTime(0.05)->Repetitions(kRepetitions);
    }
    for (bool on : {true, false}) {
        const std::string what = on ? "tracker: scope, on" : "tracker: scope, off";
        if (on) {
            const std::string others = "tracker: scope, on, led to from elsewhere";
            compare(others, "ours", [=](benchmark::State &s) { tracker_scopes(s, on); })->MinTime(0.05)->Repetitions(kRepetitions);
            compare(others, "push and pop a pointer", [=](benchmark::State &s) { plain_scope(s, on); })
                ->MinTime(0.05)->Repetitions(kRepetitions);
        }
        compare(what, "ours", [=](benchmark::State &s) { tracker_scope(s, on); })->MinTime(0.05)->Repetitions(kRepetitions);
        compare(what, on ? "push and pop a pointer" : "load and test a flag", [=](benchmark::State &s) { plain_scope(s, on); })
            ->MinTime(0.05)->Repetitions(kRepetitions);
    }
}

// ------------------------------------------------------------------------------------- recorder
// Allocates and frees a block. A sampling hook leaves nearly all blocks out; an exact hook records all of them, also
// into a region, which other processes can view. Peer: the pair of malloc and free itself. The time of a snapshot
// depends on contexts, not on blocks: measured for the program itself, and for an observer of the region.

struct Region {
    uint64_t bytes = uint64_t{1} << 36;
    void *base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    Region() { must(base != MAP_FAILED && hd_region_init(base, bytes, nullptr) == HD_OK, "hd_region_init failed"); }
    ~Region() { munmap(base, bytes); }
};

hd_recorder *recorder_in(const Region *region, uint64_t sample_bytes) {
    hd_recorder_desc desc = {};
    desc.tracker.capture = HD_CAPTURE_OFF;
    desc.sample_bytes = sample_bytes;
    desc.sample_seed = 1;
    if (region) desc.region = region->base, desc.region_bytes = region->bytes;
    hd_recorder *rec = hd_recorder_create(&desc, nullptr);
    must(rec != nullptr, "hd_recorder_create failed");
    return rec;
}

void recorder_block(benchmark::State &state, uint64_t sample_bytes, bool shared) {
    std::unique_ptr<Region> region(shared ? new Region : nullptr);
    hd_recorder *rec = recorder_in(region.get(), sample_bytes);
    uintptr_t address = 4096;
    for (auto _ : state) {
        const void *block = reinterpret_cast<const void *>(address += 48);
        benchmark::DoNotOptimize(hd_record_alloc(rec, block, 48, nullptr));
        benchmark::DoNotOptimize(hd_record_free(rec, block));
    }
    hd_recorder_free(rec);
}

void plain_block(benchmark::State &state) {
    for (auto _ : state) {
        void *block = std::malloc(48);
        benchmark::DoNotOptimize(block);
        std::free(block);
    }
}

constexpr uint64_t kLooked = 20000;

void recorder_look(benchmark::State &state, uint64_t live, bool from_outside) {
    std::unique_ptr<Region> region(from_outside ? new Region : nullptr);
    hd_recorder *rec = recorder_in(region.get(), 0);
    std::vector<std::string> types;
    for (uint64_t i = 0; i < kLooked; i++) types.push_back("type" + std::to_string(i));
    for (uint64_t i = 0; i < live; i++)
        hd_record_alloc(rec, reinterpret_cast<const void *>(4096 + i * 16), 16, types[i % kLooked].c_str());
    for (auto _ : state) {
        hd_profile *profile = nullptr;
        hd_status status = from_outside ? hd_recorder_view_snapshot(region->base, region->bytes, 0, nullptr, &profile, nullptr)
                                        : hd_recorder_snapshot(rec, nullptr, &profile, nullptr);
        must(status == HD_OK && hd_profile_bytes(profile) == 16 * live, "the snapshot does not have the live bytes");
        hd_profile_free(profile);
    }
    hd_recorder_free(rec);
}

void add_recorder() {
    for (uint64_t sample_bytes : {uint64_t{0}, uint64_t{1} << 19}) {
        for (bool shared : {false, true}) {
            const std::string what = std::string("recorder: alloc + free, ") + (sample_bytes ? "left out by sampling" : "recorded") +
                                     (shared ? ", into a region" : "");
            compare(what, "ours", [=](benchmark::State &s) { recorder_block(s, sample_bytes, shared); })
                ->MinTime(0.05)->Repetitions(kRepetitions);
            compare(what, "malloc + free", plain_block)->MinTime(0.05)->Repetitions(kRepetitions);
        }
    }
    for (uint64_t live : {uint64_t{100000}, uint64_t{1000000}, uint64_t{10000000}}) {
        const std::string what = "recorder: snapshot, 20,000 contexts, " + std::to_string(live) + " blocks";
        compare(what, "ours", [=](benchmark::State &s) { recorder_look(s, live, true); })->Iterations(5)->Unit(benchmark::kMillisecond);
        compare(what, "by the program itself", [=](benchmark::State &s) { recorder_look(s, live, false); })
            ->Iterations(5)->Unit(benchmark::kMillisecond);
    }
}

// --------------------------------------------------------------------------------------- export
// Condenses a profile to the entries worth listing. Peer: a plain implementation of the document's pseudo-algorithm.
// It computes cumulative sizes of all nodes across all axes, breaks the total down along each axis, lists the
// children that pass, and recurses on them. Both must give the same entries.

struct Amount {
    uint64_t bytes = 0, blocks = 0;
};
using Key = std::pair<uint32_t, uint32_t>;  // backtrace node, type

// Entries in comparable form: backtrace and type as hashes of their paths, then bytes and blocks.
using Entry = std::tuple<uint64_t, uint64_t, uint64_t, uint64_t>;
uint64_t step(uint64_t path, std::string_view name) {
    return Random{path ^ std::hash<std::string_view>()(name)}.next();
}

class Document {
  public:
    Document(const Heap &h, const hd_cutoff &c)
        : parent(h.parent), name(h.name.size()), type(h.type), children(h.parent.size()), cutoff(c) {
        for (uint32_t i = 0; i < name.size(); i++) name[i] = &h.name[i];
        generate_self(h);
        add_up(h);
        listed[{0, 0}] = cumulative[{0, 0}];
        break_down({0, 0});
    }

    std::vector<Entry> entries() const {
        std::vector<uint64_t> path(parent.size());
        for (uint32_t i = 1; i < path.size(); i++) path[i] = step(path[parent[i]], *name[i]);
        std::vector<Entry> all;
        for (const auto &[key, amount] : listed)
            all.emplace_back(path[key.first], step(0, type[key.second]), amount.bytes, amount.blocks);
        std::sort(all.begin(), all.end());
        return all;
    }
    size_t count() const { return listed.size(); }

  private:
    std::vector<uint32_t> parent;
    std::vector<const std::string *> name;
    const std::vector<std::string> &type;
    std::vector<std::vector<uint32_t>> children;
    std::vector<uint32_t> own;                 // by node: the node for its own cells
    std::map<Key, Amount> cumulative, listed;
    hd_cutoff cutoff;

    // A node with cells and callees gets a child "<self>".
    void generate_self(const Heap &h) {
        static const std::string self = "<self>";
        const uint32_t n = static_cast<uint32_t>(parent.size());
        std::vector<bool> has_cells(n);
        for (const Cell &cell : h.cells) has_cells[cell.node] = true;
        for (uint32_t i = 1; i < n; i++) children[parent[i]].push_back(i);
        for (uint32_t i = 0; i < n; i++) {
            own.push_back(i);
            if (!has_cells[i] || children[i].empty()) continue;
            own[i] = static_cast<uint32_t>(parent.size());
            children[i].push_back(own[i]);
            children.emplace_back();
            parent.push_back(i);
            name.push_back(&self);
        }
    }

    void add_up(const Heap &h) {
        for (const Cell &cell : h.cells)
            for (uint32_t node = own[cell.node]; node != HD_NONE; node = parent[node])
                for (uint32_t t : {0u, cell.type}) {
                    Amount &amount = cumulative[{node, t}];
                    amount.bytes += cell.bytes;
                    amount.blocks += cell.blocks;
                }
    }

    struct Child {
        Key key;
        Amount amount;
        const std::string *name;
    };

    void break_down(Key key) {
        const uint64_t size = listed[key].bytes;
        std::vector<Child> found;
        for (uint32_t child : children[key.first]) {
            const auto at = cumulative.find({child, key.second});
            if (at != cumulative.end()) found.push_back({at->first, at->second, name[child]});
        }
        select(found, size);
        if (key.second) return;
        found.clear();
        for (auto at = cumulative.upper_bound(key); at != cumulative.end() && at->first.first == key.first; ++at)
            found.push_back({at->first, at->second, &type[at->first.second]});
        select(found, size);
    }

    void select(std::vector<Child> &found, uint64_t size) {
        std::sort(found.begin(), found.end(), [](const Child &a, const Child &b) {
            return a.amount.bytes != b.amount.bytes ? a.amount.bytes > b.amount.bytes : *a.name < *b.name;
        });
        if (cutoff.top && found.size() > cutoff.top) found.resize(cutoff.top);
        const double total = static_cast<double>(cumulative[{0, 0}].bytes);
        for (const Child &child : found) {
            const double bytes = static_cast<double>(child.amount.bytes);
            if (child.amount.bytes < cutoff.min_bytes || bytes < cutoff.min_share * total ||
                bytes < cutoff.min_parent_share * static_cast<double>(size))
                break;
            if (listed.emplace(child.key, child.amount).second) break_down(child.key);
        }
    }
};

std::vector<Entry> entries(const hd_breakdown *b) {
    std::vector<uint64_t> path[2];
    for (int a = 0; a < 2; a++) {
        const hd_axis &axis = b->axis[a];
        path[a].push_back(a ? step(0, "") : 0);
        for (uint32_t i = 1; i < axis.node_count; i++) {
            const std::string_view name(axis.node_name[i].data, axis.node_name[i].len);
            path[a].push_back(step(a ? 0 : path[a][axis.parent[i]], name));
        }
    }
    std::vector<Entry> all;
    for (size_t i = 0; i < b->entries.count; i++)
        all.emplace_back(path[0][b->entries.node[2 * i]], path[1][b->entries.node[2 * i + 1]], b->entries.amount[i].bytes,
                         b->entries.amount[i].blocks);
    std::sort(all.begin(), all.end());
    return all;
}

hd_breakdown *export_ours(const hd_cutoff &cutoff) {
    hd_breakdown *breakdown;
    must(hd_export(profile(), &cutoff, nullptr, &breakdown, nullptr) == HD_OK, "hd_export failed");
    return breakdown;
}

void add_export(const char *what, const hd_cutoff &cutoff) {
    const std::string full = std::string("export, ") + what;
    compare(full, "ours", [=, checked = false](benchmark::State &state) mutable {
        if (!checked) {
            hd_breakdown *breakdown = export_ours(cutoff);
            must(entries(breakdown) == Document(heap(), cutoff).entries(), "export: the entries are not the document's");
            hd_breakdown_free(breakdown);
            checked = true;
        }
        for (auto _ : state) {
            hd_breakdown *breakdown = export_ours(cutoff);
            benchmark::DoNotOptimize(breakdown->entries.count);
            hd_breakdown_free(breakdown);
        }
    })->Unit(benchmark::kMillisecond)->MinTime(0.3)->Repetitions(kRepetitions);
    compare(full, "the document, plainly", [=](benchmark::State &state) {
        for (auto _ : state) {
            const Document document(heap(), cutoff);
            benchmark::DoNotOptimize(document.count());
        }
    })->Unit(benchmark::kMillisecond)->Iterations(1)->Repetitions(2);
}

// ----------------------------------------------------------------------------- merging, comparing
// Adds up many profiles of 10,000 contexts that have most contexts in common. Peer: a map from backtraces, written
// out, to sizes. Then the diff of two profiles, including all prefixes of each context. Peer: a map from paths to
// both sums. Both with std::map and with std::unordered_map.

struct Context {
    std::vector<uint32_t> frames;  // outermost first
    uint32_t type;
    uint64_t bytes;
};

// Contexts with common outer frames, as in a program.
std::vector<Context> contexts_of(Random &random, size_t count, uint32_t functions) {
    std::vector<Context> all;
    all.reserve(count);
    for (size_t i = 0; i < count; i++) {
        Context c;
        if (!all.empty() && random.below(8)) {
            const Context &other = all[random.below(all.size())];
            c.frames.assign(other.frames.begin(), other.frames.begin() + 1 + static_cast<ptrdiff_t>(random.below(other.frames.size())));
        }
        const uint64_t most = 48 - c.frames.size();
        for (uint64_t k = 1 + random.below(12); k && c.frames.size() < 48 && most; k--)
            c.frames.push_back(static_cast<uint32_t>(random.zipf(functions)));
        c.type = static_cast<uint32_t>(random.below(20));
        c.bytes = 16 + random.below(4096);
        all.push_back(std::move(c));
    }
    return all;
}

std::string function_name(uint32_t f) { return "namespace::Class" + std::to_string(f % 97) + "::function" + std::to_string(f); }

hd_profile *profile_of(const std::vector<Context> &contexts) {
    hd_profile *p = hd_profile_create(nullptr, nullptr);
    for (const Context &c : contexts) {
        uint32_t nodes[2] = {0, 0};
        for (uint32_t f : c.frames) must(!hd_profile_node(p, 0, nodes[0], hd_cstr(function_name(f).c_str()), &nodes[0], NULL), "node");
        must(!hd_profile_node(p, 1, 0, hd_cstr(("Type" + std::to_string(c.type)).c_str()), &nodes[1], NULL), "node");
        must(!hd_profile_add(p, nodes, c.bytes, 1, NULL), "add");
    }
    return p;
}

constexpr size_t kProfiles = 500, kEach = 10000, kDistinct = 16;

// kDistinct profiles in memory, added in turn. Each has as many contexts of its own.
const std::vector<hd_profile *> &profiles() {
    static const std::vector<hd_profile *> all = [] {
        std::vector<hd_profile *> made;
        Random random{77};
        const std::vector<Context> shared = contexts_of(random, kEach * 8 / 10, 5000);
        for (size_t i = 0; i < kDistinct; i++) {
            std::vector<Context> contexts = contexts_of(random, kEach * 2 / 10, 5000);
            contexts.insert(contexts.end(), shared.begin(), shared.end());
            made.push_back(profile_of(contexts));
        }
        return made;
    }();
    return all;
}

template <class Map> class PathMerge {
  public:
    void add(const hd_profile *p) {
        const hd_axis axis = hd_profile_axis(p, 0), types = hd_profile_axis(p, 1);
        const hd_rows cells = hd_profile_cells(p);
        std::string key;
        for (uint32_t i = 0; i < cells.count; i++) {
            key.clear();
            for (uint32_t n = cells.node[2 * i]; n; n = axis.parent[n]) {
                key.append(axis.node_name[n].data, axis.node_name[n].len);
                key += '/';
            }
            const hd_str type = types.node_name[cells.node[2 * i + 1]];
            key.append(type.data, type.len);
            Amount &sum = sums[key];
            sum.bytes += cells.amount[i].bytes;
            sum.blocks += cells.amount[i].blocks;
        }
    }
    Map sums;
};

template <class Map> void merge_by_path(benchmark::State &state) {
    const auto &all = profiles();
    for (auto _ : state) {
        PathMerge<Map> merged;
        for (size_t i = 0; i < kProfiles; i++) merged.add(all[i % all.size()]);
        benchmark::DoNotOptimize(merged.sums.size());
    }
}

void add_merge() {
    const char *what = "merge 500 profiles of 10,000 contexts";
    compare(what, "ours", [](benchmark::State &state) {
        const auto &all = profiles();
        for (auto _ : state) {
            hd_profile *sum = hd_profile_create(nullptr, nullptr);
            for (size_t i = 0; i < kProfiles; i++) must(!hd_profile_merge(sum, all[i % all.size()], nullptr), "merge");
            state.PauseTiming();
            {
                PathMerge<std::map<std::string, Amount>> peer;
                for (hd_profile *p : all) peer.add(p);
                must(peer.sums.size() == hd_profile_cells(sum).count, "merge: the contexts are not the peer's");
            }
            state.ResumeTiming();
            hd_profile_free(sum);
        }
    })->Unit(benchmark::kMillisecond)->Iterations(1)->Repetitions(3);
    compare(what, "std::unordered_map of paths", merge_by_path<std::unordered_map<std::string, Amount>>)->Iterations(1)->Repetitions(2);
    compare(what, "std::map of paths", merge_by_path<std::map<std::string, Amount>>)->Iterations(1)->Repetitions(2);
}

// The same as breakdowns, cut off at a 2,000th of the total.
const std::vector<hd_breakdown *> &breakdowns() {
    static const std::vector<hd_breakdown *> all = [] {
        std::vector<hd_breakdown *> made;
        for (hd_profile *p : profiles()) {
            hd_cutoff cutoff = {};
            cutoff.min_share = 5e-4;
            made.push_back(nullptr);
            must(!hd_export(p, &cutoff, nullptr, &made.back(), nullptr), "export");
        }
        return made;
    }();
    return all;
}

void add_merge_breakdowns() {
    const char *what = "merge 500 breakdowns, cut at 0.05 %";
    compare(what, "ours", [](benchmark::State &state) {
        const auto &all = breakdowns();
        for (auto _ : state) {
            hd_merger *sum = hd_merger_create(nullptr, nullptr);
            hd_heap heap = {};
            for (size_t i = 0; i < kProfiles; i++) {
                heap.breakdown = all[i % all.size()];
                must(!hd_merger_add(sum, &heap, nullptr), "merge");
            }
            must(!hd_merger_finish(sum, &heap, nullptr), "merge");
            hd_heap_release(&heap);
            hd_merger_free(sum);
        }
        state.SetItemsProcessed(int64_t(kProfiles * all[0]->entries.count));
    })->Unit(benchmark::kMillisecond)->Iterations(1)->Repetitions(3);
    compare(what, "unordered_map of paths, no bounds", [](benchmark::State &state) {
        const auto &all = breakdowns();
        for (auto _ : state) {
            std::unordered_map<std::string, Amount> sums;
            std::string key;
            for (size_t i = 0; i < kProfiles; i++) {
                const hd_breakdown *b = all[i % all.size()];
                for (uint32_t k = 0; k < b->entries.count; k++) {
                    key.clear();
                    for (uint32_t a = 0; a < 2; a++)
                        for (uint32_t n = b->entries.node[2 * k + a]; n; n = b->axis[a].parent[n]) {
                            key.append(b->axis[a].node_name[n].data, b->axis[a].node_name[n].len);
                            key += '/';
                        }
                    Amount &sum = sums[key];
                    sum.bytes += b->entries.amount[k].bytes;
                    sum.blocks += b->entries.amount[k].blocks;
                }
            }
            benchmark::DoNotOptimize(sums.size());
        }
    })->Unit(benchmark::kMillisecond)->Iterations(1)->Repetitions(2);
}

// Four heaps as rows. If shuffled, no row resembles the row before it.
const std::string &rows_of(hd_rows_form form, bool shuffled) {
    static std::map<std::pair<int, bool>, std::string> made;
    std::string &text = made[{form, shuffled}];
    if (!text.empty()) return text;
    std::vector<hd_heap> heaps(4);
    std::vector<std::array<hd_label, 2>> labels(4);
    const char *hosts[] = {"a1", "a2", "b1", "b2"};
    for (size_t i = 0; i < heaps.size(); i++) {
        labels[i] = {hd_label{"day", "2026-11-22"}, hd_label{"host", hosts[i]}};
        heaps[i] = {};
        heaps[i].process = "server";
        heaps[i].allocator = "malloc";
        heaps[i].profile = profiles()[i];
        heaps[i].labels = labels[i].data();
        heaps[i].label_count = labels[i].size();
    }
    hd_buffer out = {};
    must(!hd_rows_write(heaps.data(), heaps.size(), form, nullptr, hd_out_memory(&out), nullptr), "rows");
    text.assign(reinterpret_cast<char *>(out.data), out.size);
    hd_buffer_free(&out);
    if (!shuffled) return text;
    std::vector<std::string> lines;
    for (size_t at = 0, end; at < text.size(); at = end) {
        end = text.find('\n', at) + 1;
        lines.push_back(text.substr(at, end - at));
    }
    Random random{5};
    for (size_t i = lines.size(); i-- > 2;) std::swap(lines[i], lines[form == HD_ROWS_CSV ? 1 + random.below(i) : random.below(i + 1)]);
    text.clear();
    for (const std::string &line : lines) text += line;
    return text;
}

uint64_t bytes_of(const hd_dump *dump) {
    uint64_t sum = 0;
    for (size_t i = 0; i < hd_dump_heap_count(dump); i++) sum += hd_profile_bytes(hd_dump_heap(dump, i)->profile);
    return sum;
}

void read_rows(benchmark::State &state, hd_rows_form form, bool shuffled) {
    const std::string &text = rows_of(form, shuffled);
    uint64_t sum = 0;
    for (size_t i = 0; i < 4; i++) sum += hd_profile_bytes(profiles()[i]);
    for (auto _ : state) {
        hd_dump *dump;
        must(!hd_read(hd_in_memory(text.data(), text.size()), nullptr, &dump, nullptr), "rows");
        must(hd_dump_heap_count(dump) == 4 && bytes_of(dump) == sum, "rows: the sum is another");
        hd_dump_free(dump);
    }
    state.SetBytesProcessed(int64_t(state.iterations() * text.size()));
}

// The obvious code: split lines, and add amounts by the text before them. Stacks have no quotes here.
void split_rows(benchmark::State &state, bool shuffled) {
    const std::string &text = rows_of(HD_ROWS_CSV, shuffled);
    for (auto _ : state) {
        std::unordered_map<std::string, Amount> sums;
        for (size_t at = text.find('\n') + 1, end; at < text.size(); at = end + 1) {
            std::string_view line(text.data() + at, (end = text.find('\n', at)) - at), cell[32];
            size_t n = 0;
            for (size_t from = 0, comma; from <= line.size() && n < 32; from = comma + 1) {
                comma = std::min(line.find(',', from), line.size());
                cell[n++] = line.substr(from, comma - from);
            }
            must(n == 20, "rows: cells");
            Amount &sum = sums[std::string(line.data(), size_t(cell[14].data() - line.data()))];
            sum.bytes += std::strtoull(cell[14].data(), nullptr, 10);
            sum.blocks += std::strtoull(cell[15].data(), nullptr, 10);
        }
        benchmark::DoNotOptimize(sums.size());
    }
    state.SetBytesProcessed(int64_t(state.iterations() * text.size()));
}

void add_rows() {
    for (bool shuffled : {false, true}) {
        const std::string how = shuffled ? ", shuffled" : "";
        compare("read rows, CSV" + how, "ours", [=](benchmark::State &s) { read_rows(s, HD_ROWS_CSV, shuffled); })
            ->Unit(benchmark::kMillisecond)->Repetitions(3);
        compare("read rows, CSV" + how, "split, unordered_map, no hashes", [=](benchmark::State &s) { split_rows(s, shuffled); })
            ->Unit(benchmark::kMillisecond)->Repetitions(2);
        compare("read rows, JSON lines" + how, "ours", [=](benchmark::State &s) { read_rows(s, HD_ROWS_JSON, shuffled); })
            ->Unit(benchmark::kMillisecond)->Repetitions(3);
    }
}

// The bench's heap, without every tenth cell, and with every seventh cell grown.
const hd_profile *changed_profile() {
    static const hd_profile *const changed = [] {
        hd_profile *p = hd_profile_create(nullptr, nullptr);
        must(!hd_profile_merge(p, profile(), nullptr), "merge");
        const hd_rows cells = hd_profile_cells(p);
        hd_profile *q = hd_profile_create(nullptr, nullptr);
        const hd_axis axes[2] = {hd_profile_axis(p, 0), hd_profile_axis(p, 1)};
        std::vector<uint32_t> map[2];
        for (uint32_t a = 0; a < 2; a++) {
            map[a].assign(axes[a].node_count, 0);
            for (uint32_t i = 1; i < axes[a].node_count; i++)
                must(!hd_profile_node(q, a, map[a][axes[a].parent[i]], axes[a].node_name[i], &map[a][i], NULL), "node");
        }
        for (uint32_t i = 0; i < cells.count; i++) {
            if (i % 10 == 0) continue;
            const uint32_t nodes[2] = {map[0][cells.node[2 * i]], map[1][cells.node[2 * i + 1]]};
            must(!hd_profile_add(q, nodes, cells.amount[i].bytes + (i % 7 ? 0 : cells.amount[i].bytes / 2), cells.amount[i].blocks, NULL), "add");
        }
        hd_profile_free(p);
        return q;
    }();
    return changed;
}

struct Change {
    uint64_t before = 0, after = 0, gross = 0;
};

// Sums before and after by path and type; then added to all prefixes, with the gross change.
template <class Map> size_t diff_by_path(const hd_profile *before, const hd_profile *after, uint64_t least) {
    Map cells, sums;
    for (int side = 0; side < 2; side++) {
        const hd_profile *p = side ? after : before;
        const hd_axis axis = hd_profile_axis(p, 0), types = hd_profile_axis(p, 1);
        const hd_rows rows = hd_profile_cells(p);
        std::vector<std::string> path(axis.node_count);
        for (uint32_t i = 1; i < axis.node_count; i++)
            path[i] = path[axis.parent[i]] + "/" + std::string(axis.node_name[i].data, axis.node_name[i].len);
        for (uint32_t i = 0; i < rows.count; i++) {
            const hd_str type = types.node_name[rows.node[2 * i + 1]];
            Change &c = cells[path[rows.node[2 * i]] + "\n" + std::string(type.data, type.len)];
            (side ? c.after : c.before) += rows.amount[i].bytes;
        }
    }
    for (auto &[key, c] : cells) {
        c.gross = c.before > c.after ? c.before - c.after : c.after - c.before;
        const size_t line = key.find('\n');
        for (size_t end = line;; end = key.rfind('/', end - 1)) {
            for (const std::string &type : {key.substr(line), std::string("\n")}) {
                Change &sum = sums[key.substr(0, end) + type];
                sum.before += c.before, sum.after += c.after, sum.gross += c.gross;
            }
            if (!end) break;
        }
    }
    size_t listed = 0;
    for (const auto &[key, c] : sums) listed += c.gross >= least;
    return listed;
}

template <class Map> void diff_peer(benchmark::State &state) {
    for (auto _ : state) benchmark::DoNotOptimize(diff_by_path<Map>(profile(), changed_profile(), 65536));
}

void add_diff() {
    const char *what = "diff of two profiles of 35,355 contexts";
    compare(what, "ours", [](benchmark::State &state) {
        hd_heap before = {}, after = {};
        before.profile = profile();
        after.profile = changed_profile();
        hd_cutoff cutoff = {};
        cutoff.min_bytes = 65536;
        for (auto _ : state) {
            hd_diff *diff = nullptr;
            must(!hd_compare(&before, &after, &cutoff, nullptr, &diff, nullptr), "compare");
            benchmark::DoNotOptimize(diff->before.count);
            hd_diff_free(diff);
        }
    })->Unit(benchmark::kMillisecond)->MinTime(0.3)->Repetitions(kRepetitions);
    compare(what, "std::map of paths", diff_peer<std::map<std::string, Change>>)->Iterations(1)->Repetitions(2);
    compare(what, "std::unordered_map of paths", diff_peer<std::unordered_map<std::string, Change>>)->Iterations(1)->Repetitions(2);
}

// -------------------------------------------------------------------------------------- reading
// A trace that we wrote, with two dumps of that heap for each of two processes, read back. Peer, for scale: finding
// every newline in the same bytes, which is about the least work for any reader of all bytes.

std::string written(const hd_profile *self, const hd_breakdown *cumulative) {
    hd_heap heaps[4] = {};
    hd_buffer buffer = {};
    for (size_t i = 0; i < 4; i++) {
        heaps[i].pid = 1 + i / 2;
        heaps[i].dump = i % 2 ? "0x2" : "0x1";
        heaps[i].time_us = 1000 * (1 + i % 2);
        heaps[i].allocator = "malloc";
        heaps[i].profile = self;
        heaps[i].breakdown = cumulative;
    }
    must(hd_chrome_write(heaps, 4, nullptr, hd_out_memory(&buffer), nullptr) == HD_OK, "hd_chrome_write failed");
    std::string text(reinterpret_cast<char *>(buffer.data), buffer.size);
    hd_buffer_free(&buffer);
    return text;
}

const std::string &trace(bool cumulative) {
    static const std::string old_format = written(profile(), nullptr);
    static const std::string new_format = [] {
        hd_breakdown *breakdown = export_ours({64 * 1024, 0, 0, 0, 0, 0});
        std::string text = written(nullptr, breakdown);
        hd_breakdown_free(breakdown);
        return text;
    }();
    return cumulative ? new_format : old_format;
}

void add_reading(const char *what, bool cumulative) {
    const std::string full = std::string("read, ") + what;
    compare(full, "ours", [=](benchmark::State &state) {
        const std::string &text = trace(cumulative);
        for (auto _ : state) {
            hd_dump *dump = nullptr;
            must(hd_read_memory(text.data(), text.size(), nullptr, &dump, nullptr) == HD_OK, "hd_read_memory failed");
            must(hd_dump_heap_count(dump) == 4, "heaps are missing");
            hd_dump_free(dump);
        }
        state.counters["MB"] = static_cast<double>(text.size()) / 1e6;
    })->Unit(benchmark::kMillisecond)->MinTime(0.3)->Repetitions(kRepetitions);
    compare(full, "memchr for newlines", [=](benchmark::State &state) {
        const std::string &text = trace(cumulative);
        for (auto _ : state) {
            const char *at = text.data(), *end = at + text.size();
            size_t lines = 0;
            while ((at = static_cast<const char *>(std::memchr(at, '\n', static_cast<size_t>(end - at))))) at++, lines++;
            benchmark::DoNotOptimize(lines);
        }
        state.counters["MB"] = static_cast<double>(text.size()) / 1e6;
    })->Unit(benchmark::kMillisecond)->MinTime(0.1)->Repetitions(kRepetitions);
}

// A snapshot of a Dart VM: a real one, cut, and repeated many times. DART_SNAPSHOT names another one, used as it is.
const std::string &snapshot() {
    static const std::string bytes = [] {
        const char *named = std::getenv("DART_SNAPSHOT");
        hd_in in;
        must(hd_in_open_mapped(named ? named : "tests/data/small.dartheap", &in, nullptr) == HD_OK, "no snapshot");
        std::string repeated;
        dart_repeat(in.data, in.size, named ? 1 : 5000, hd_out_callback(
            [](void *to, const void *data, size_t size) {
                static_cast<std::string *>(to)->append(static_cast<const char *>(data), size);
                return HD_OK;
            }, &repeated));
        hd_in_close(&in);
        return repeated;
    }();
    return bytes;
}

hd_dump *read_snapshot() {
    hd_dump *dump = nullptr;
    must(hd_read_as(&hd_format_dart, hd_in_memory(snapshot().data(), snapshot().size()), nullptr, &dump, nullptr) == HD_OK,
         "hd_read_as failed");
    return dump;
}

// The least work of any reader: decodes every number, and keeps none.
uint64_t decode_only(const std::string &bytes) {
    const auto *p = reinterpret_cast<const uint8_t *>(bytes.data()), *end = p + bytes.size();
    uint64_t sum = 0;
    while (p < end) {
        uint64_t value = 0;
        unsigned shift = 0;
        uint8_t byte;
        do {
            byte = *p++;
            value |= static_cast<uint64_t>(byte & 127) << (shift & 63);
            shift += 7;
        } while (byte & 128 && p < end);
        sum += value;
    }
    return sum;
}

void add_dart() {
    const auto megabytes = [](benchmark::State &state) { state.counters["MB"] = static_cast<double>(snapshot().size()) / 1e6; };
    const auto add = [=](const char *what, const char *who, const std::function<void()> &run) {
        compare(what, who, [=](benchmark::State &state) {
            for (auto _ : state) run();
            megabytes(state);
        })->Unit(benchmark::kMillisecond)->MinTime(0.3)->Repetitions(kRepetitions);
    };
    const auto decode = [] { benchmark::DoNotOptimize(decode_only(snapshot())); };
    const auto read = [] { hd_dump_free(read_snapshot()); };
    add("Dart snapshot, read", "ours", read);
    add("Dart snapshot, read", "decoded as numbers, nothing kept", decode);
    add("Dart snapshot, record by record", "ours", [] {
        hd_dart_reader *reader;
        hd_dart_record record;
        uint64_t bytes = 0;
        must(hd_dart_open(hd_in_memory(snapshot().data(), snapshot().size()), nullptr, &reader, nullptr) == HD_OK, "hd_dart_open failed");
        do {
            must(hd_dart_next(reader, &record, nullptr) == HD_OK, "hd_dart_next failed");
            bytes += record.size;
        } while (record.kind);
        benchmark::DoNotOptimize(bytes);
        hd_dart_close(reader);
    });
    add("Dart snapshot, record by record", "decoded as numbers, nothing kept", decode);
    add("Dart snapshot, written", "ours", [] {
        static hd_dump *dump = read_snapshot();
        uint64_t bytes = 0;
        must(hd_dart_write(hd_dump_dart(dump), nullptr, hd_out_callback([](void *sum, const void *, size_t size) {
                 *static_cast<uint64_t *>(sum) += size;
                 return HD_OK;
             }, &bytes), nullptr) == HD_OK && bytes == snapshot().size(), "hd_dart_write failed");
    });
    add("Dart snapshot, written", "the reader", read);
}

// Raw MemProf profiles like those of the document's 500 runs of clang: 940, mostly 10661, and 35355 call stacks per
// run, with libraries at other addresses each time. 20 are generated, and used 25 times; version 4.
const std::vector<std::string> &raw_profiles() {
    static const std::vector<std::string> profiles = [] {
        std::vector<std::string> made;
        for (uint32_t i = 0; i < 20; i++) {
            mp_model model;
            mp_bytes bytes;
            std::memset(&bytes, 0, sizeof bytes);
            mp_process(&model, i, i == 0 ? 940 : i == 1 ? 35355 : 10661, 2 * 35355, 4);
            mp_write(&bytes, &model.raw);
            made.emplace_back(reinterpret_cast<const char *>(bytes.data), bytes.size);
            mp_close(&model);
            std::free(bytes.data);
        }
        return made;
    }();
    return profiles;
}

// Each of the 500 in turn.
template <class Take> void each_raw_profile(Take take) {
    for (int round = 0; round < 25; round++)
        for (const std::string &bytes : raw_profiles()) {
            hd_memprof_reader *reader;
            const hd_memprof_raw *raw;
            must(hd_memprof_open(hd_in_memory(bytes.data(), bytes.size()), nullptr, &reader, nullptr) == HD_OK &&
                 hd_memprof_next(reader, &raw, nullptr) == HD_OK, "hd_memprof_next failed");
            take(*raw);
            hd_memprof_close(reader);
        }
}

uint64_t merge_raw_profiles() {
    hd_memprof_merger *merger = hd_memprof_merger_create(nullptr, nullptr);
    hd_memprof *merged;
    each_raw_profile([&](const hd_memprof_raw &raw) {
        must(hd_memprof_merger_add(merger, &raw, nullptr) == HD_OK, "hd_memprof_merger_add failed");
    });
    must(hd_memprof_merger_finish(merger, &merged, nullptr) == HD_OK, "hd_memprof_merger_finish failed");
    uint64_t blocks = hd_memprof_part(merged, 0)->block_count;
    hd_memprof_free(merged);
    hd_memprof_merger_free(merger);
    return blocks;
}

// The plain version with a map: call stacks are vectors of build id and offset.
struct StackHash {
    size_t operator()(const std::vector<std::pair<std::string_view, uint64_t>> &stack) const {
        size_t hash = 0;
        for (const auto &frame : stack)
            hash = hash * 31 + std::hash<std::string_view>()(frame.first) + std::hash<uint64_t>()(frame.second);
        return hash;
    }
};
uint64_t merge_raw_profiles_plainly() {
    std::unordered_map<std::vector<std::pair<std::string_view, uint64_t>>, hd_memprof_block, StackHash> blocks;
    std::unordered_map<std::string, int> ids;
    std::vector<std::pair<std::string_view, uint64_t>> stack;
    each_raw_profile([&](const hd_memprof_raw &raw) {
        std::map<uint64_t, std::pair<const hd_memprof_segment *, std::string_view>> segments;
        for (uint32_t i = 0; i < raw.segment_count; i++) {
            const hd_memprof_segment &s = raw.segments[i];
            segments[s.start] = {&s, ids.emplace(std::string(reinterpret_cast<const char *>(s.build_id), 20), 0).first->first};
        }
        for (uint32_t i = 0; i < raw.block_count; i++) {
            const hd_memprof_block &block = raw.blocks[i];
            stack.clear();
            for (uint32_t k = raw.first[block.stack]; k < raw.first[block.stack + 1]; k++) {
                auto at = std::prev(segments.upper_bound(raw.pc[k]));
                stack.emplace_back(at->second.second, raw.pc[k] - at->second.first->offset);
            }
            auto found = blocks.emplace(stack, block);
            if (!found.second) hd__memprof_merge_values(found.first->second.value, block.value);
        }
    });
    return blocks.size();
}

void add_memprof() {
    const auto add = [](const char *what, const char *who, const std::function<uint64_t()> &run) {
        compare(what, who, [=](benchmark::State &state) {
            uint64_t size = 0;
            for (const std::string &bytes : raw_profiles()) size += 25 * bytes.size();
            for (auto _ : state) benchmark::DoNotOptimize(run());
            state.counters["MB"] = static_cast<double>(size) / 1e6;
        })->Unit(benchmark::kMillisecond)->MinTime(0.1)->Repetitions(kRepetitions);
    };
    add("memprof, 500 profiles read", "ours", [] {
        uint64_t blocks = 0;
        each_raw_profile([&](const hd_memprof_raw &raw) { blocks += raw.block_count; });
        return blocks;
    });
    add("memprof, 500 profiles read", "copied, nothing understood", [] {
        std::string copy;
        for (int round = 0; round < 25; round++)
            for (const std::string &bytes : raw_profiles()) {
                copy.assign(bytes);
                benchmark::DoNotOptimize(copy.data());
            }
        return uint64_t{copy.size()};
    });
    add("memprof, 500 profiles read and merged", "ours", merge_raw_profiles);
    add("memprof, 500 profiles read and merged", "read by ours, std::unordered_map of vectors", [] {
        static const uint64_t ours = merge_raw_profiles();
        must(merge_raw_profiles_plainly() == ours, "the two merges differ");
        return ours;
    });
}

// An indexed profile of a million functions. Each has its own call stack of 20 frames, and a call site; stacks of
// neighbours share their outer frames.
constexpr uint32_t kIndexed = 1000000;
uint64_t function_guid(uint32_t i) { return (i + 1) * 0x9e3779b97f4a7c15u; }
hd_buffer write_million_functions(hd_memprof_layout layout) {
    std::vector<hd_memprof_location> locations(kIndexed);
    std::vector<uint32_t> first{0}, location, block_first{0}, site_first{0}, block_stack, site;
    std::vector<uint64_t> function, value;
    for (uint32_t i = 0; i < kIndexed; i++) {
        locations[i] = hd_memprof_location{};
        locations[i].function = function_guid(i);
        locations[i].line_offset = i % 50;
        locations[i].column = 5;
        for (uint32_t at = i, k = 0; k < 20; k++, at /= 2) location.push_back(at);
        first.push_back(static_cast<uint32_t>(location.size()));
        function.push_back(function_guid(i));
        block_stack.push_back(i);
        site.push_back(i / 2);
        block_first.push_back(i + 1);
        site_first.push_back(i + 1);
        for (uint64_t v : {uint64_t{1}, uint64_t{64}, uint64_t{1000}, uint64_t{7}}) value.push_back(v);
    }
    hd_memprof_index x{};
    x.layout = HD_MEMPROF_LLVM_3;
    x.fields = HD_MEMPROF_HOT_COLD;
    for (uint8_t field : {HD_MEMPROF_ALLOC_COUNT, HD_MEMPROF_TOTAL_SIZE, HD_MEMPROF_TOTAL_LIFETIME,
                          HD_MEMPROF_TOTAL_LIFETIME_ACCESS_DENSITY})
        x.field[x.field_count++] = field;
    x.location_count = x.stack_count = x.function_count = x.block_count = x.site_count = kIndexed;
    x.locations = locations.data();
    x.first = first.data();
    x.location = location.data();
    x.function = function.data();
    x.block_first = block_first.data();
    x.site_first = site_first.data();
    x.block_stack = block_stack.data();
    x.value = value.data();
    x.site = site.data();
    hd_buffer out{};
    hd_memprof_index_desc desc{};
    desc.layout = layout;
    must(hd_memprof_index_write(&x, &desc, nullptr, hd_out_memory(&out), nullptr) == HD_OK, "hd_memprof_index_write failed");
    return out;
}
const hd_buffer &million_functions(hd_memprof_layout layout = HD_MEMPROF_LLVM_3) {
    static const hd_buffer llvm = write_million_functions(HD_MEMPROF_LLVM_3);
    static const hd_buffer rfc = write_million_functions(HD_MEMPROF_RFC);
    return layout == HD_MEMPROF_RFC ? rfc : llvm;
}
hd_memprof_index *read_million_functions(hd_memprof_layout layout) {
    hd_memprof_index *index = nullptr;
    const hd_buffer &file = million_functions(layout);
    must(hd_memprof_index_read(hd_in_memory(file.data, file.size), nullptr, &index, nullptr) == HD_OK, "hd_memprof_index_read failed");
    return index;
}

// Looks up a random function of an index in memory: the size of its block, and its whole call stack.
void add_lookup() {
    static hd_memprof_index *index = nullptr;
    static std::unordered_map<uint64_t, uint32_t> functions;
    const auto add = [](const char *who, uint32_t (*number)(uint64_t guid)) {
        compare("memprof, a function of a million looked up", who, [=](benchmark::State &state) {
            if (!index) {
                index = read_million_functions(HD_MEMPROF_LLVM_3);
                for (uint32_t f = 0; f < index->function_count; f++) functions[index->function[f]] = f;
            }
            uint64_t random = 1;
            for (auto _ : state) {
                random = random * 6364136223846793005u + 1442695040888963407u;
                uint32_t function = number(function_guid(static_cast<uint32_t>((random >> 33) % kIndexed)));
                uint32_t block = index->block_first[function], stack = index->block_stack[block], length = 0;
                hd_memprof_location locations[32];
                for (uint32_t i = index->first[stack]; i < index->first[stack + 1]; i++)
                    locations[length++] = index->locations[index->location[i]];
                benchmark::DoNotOptimize(locations);
                must(hd_memprof_index_value(index, block, HD_MEMPROF_TOTAL_SIZE) + length == 64 + 20, "not the function's");
            }
        })->Unit(benchmark::kNanosecond)->MinTime(0.3)->Repetitions(kRepetitions);
    };
    add("ours", [](uint64_t guid) { return hd_memprof_index_find(index, guid); });
    add("std::unordered_map", [](uint64_t guid) { return functions.at(guid); });
}

// Reads and writes the same million functions, in the RFC's layout and in LLVM's.
void add_rfc() {
    for (bool written : {false, true})
        for (hd_memprof_layout layout : {HD_MEMPROF_RFC, HD_MEMPROF_LLVM_3})
            compare(written ? "memprof, a million functions written" : "memprof, a million functions read",
                    layout == HD_MEMPROF_RFC ? "ours" : "ours, LLVM's version 3", [=](benchmark::State &state) {
                hd_memprof_index *index = written ? read_million_functions(layout) : nullptr;
                for (auto _ : state) {
                    uint64_t bytes = 0;
                    if (!written) hd_memprof_index_free(read_million_functions(layout));
                    else must(hd_memprof_index_write(index, nullptr, nullptr, hd_out_callback([](void *sum, const void *, size_t size) {
                                  *static_cast<uint64_t *>(sum) += size;
                                  return HD_OK;
                              }, &bytes), nullptr) == HD_OK && bytes == million_functions(layout).size, "hd_memprof_index_write failed");
                }
                hd_memprof_index_free(index);
                state.counters["MB"] = static_cast<double>(million_functions(layout).size) / 1e6;
            })->Unit(benchmark::kMillisecond)->MinTime(0.1)->Repetitions(kRepetitions);
}

// Adds a heap to a trace of 64 MB of events. Peer: a plain copy.
const std::string &long_trace() {
    static const std::string text = [] {
        std::string events = "{\"traceEvents\":[\n";
        char line[512];
        for (unsigned i = 0; events.size() < (64u << 20); i++) {
            std::snprintf(line, sizeof line,
                          "{\"args\":{\"src_file\":\"../../components/x%u.cc\",\"data\":{\"frame\":\"%08X\",\"n\":[%u,{}]}},\"cat\":\"toplevel\","
                          "\"dur\":%u,\"name\":\"ThreadControllerImpl::RunTask\",\"ph\":\"X\",\"pid\":%u,\"tid\":%u,\"ts\":%u},\n",
                          i % 300, i * 2654435761u, i, i % 9000, 1 + i % 6, i % 40, i * 7);
            events += line;
        }
        return events + "{}],\"metadata\":{}}";
    }();
    return text;
}

struct Target {
    std::vector<char> bytes;
    size_t size = 0;
};
hd_status to_target(void *user, const void *data, size_t size) {
    Target *to = static_cast<Target *>(user);
    if (size > to->bytes.size() - to->size) return HD_IO;
    std::memcpy(to->bytes.data() + to->size, data, size);
    to->size += size;
    return HD_OK;
}

void add_adding() {
    const std::string full = "add a heap to 64 MB of events";
    static Target target;
    compare(full, "ours", [=](benchmark::State &state) {
        const std::string &text = long_trace();
        hd_profile *empty = hd_profile_create(nullptr, nullptr);
        hd_heap heap{};
        heap.pid = 1;
        heap.dump = "0xadd";
        heap.profile = empty;    // the time for writing a heap is not measured here
        hd_chrome_dumps dumps{};
        dumps.heaps = &heap;
        dumps.heap_count = 1;
        target.bytes.resize(text.size() + (32u << 20));
        for (auto _ : state) {
            target.size = 0;
            must(hd_chrome_add(hd_in_memory(text.data(), text.size()), &dumps, nullptr, hd_out_callback(to_target, &target), nullptr) == HD_OK,
                 "hd_chrome_add failed");
        }
        must(target.size > text.size(), "nothing was added");
        hd_profile_free(empty);
        state.counters["MB"] = static_cast<double>(text.size()) / 1e6;
    })->Unit(benchmark::kMillisecond)->MinTime(0.2)->Repetitions(kRepetitions);
    compare(full, "memcpy, 64 KiB at a time", [=](benchmark::State &state) {
        const std::string &text = long_trace();
        target.bytes.resize(text.size() + (32u << 20));
        for (auto _ : state) {
            target.size = 0;
            for (size_t at = 0; at < text.size(); at += 65536) to_target(&target, text.data() + at, std::min<size_t>(65536, text.size() - at));
            benchmark::ClobberMemory();
        }
        state.counters["MB"] = static_cast<double>(text.size()) / 1e6;
    })->Unit(benchmark::kMillisecond)->MinTime(0.2)->Repetitions(kRepetitions);
}

// ---------------------------------------------------------------------------------------- graphs

// One graph at a time, since 20 million objects take much memory.
const hd_graph *heap_of(uint32_t objects) {
    static uint32_t made;
    static hd_graph *graph;
    if (made != objects) {
        hd_graph_free(graph);
        graph = heap_like(objects, 1);
        made = objects;
    }
    return graph;
}

hd_dominators *dominators_of(const hd_graph *graph) {
    hd_dominators *d = nullptr;
    must(hd_graph_dominators(graph, nullptr, &d, nullptr) == HD_OK, "hd_graph_dominators failed");
    return d;
}

// Without unreachable objects, which Boost does not expect. The graph is built before the clock starts.
template <class Graph> void boost_dominators(benchmark::State &state, uint32_t objects) {
    using Vertex = typename boost::graph_traits<Graph>::vertex_descriptor;
    const hd_graph *graph = heap_of(objects);
    std::vector<std::pair<Vertex, Vertex>> edges;
    std::vector<uint8_t> reached(objects);
    must(hd_graph_reach(graph, nullptr, 0, nullptr, reached.data(), nullptr, nullptr) == HD_OK, "hd_graph_reach failed");
    for (uint32_t o = 0; o < objects; o++) {
        const hd_object object = hd_graph_object(graph, o);
        for (uint32_t k = 0; k < object.reference_count && reached[o]; k++) edges.emplace_back(o, object.references[k]);
    }
    for (uint32_t r = 0; r < hd_graph_root_count(graph); r++) edges.emplace_back(objects, hd_graph_root(graph, r).object);
    std::unique_ptr<Graph> peer;
    if constexpr (std::is_same<Graph, BoostGraph>::value)
        peer = std::make_unique<Graph>(boost::edges_are_unsorted_multi_pass, edges.begin(), edges.end(), objects + 1);
    else peer = std::make_unique<Graph>(edges.begin(), edges.end(), objects + 1);
    std::vector<Vertex> dominator(objects + 1);
    for (auto _ : state)
        boost::lengauer_tarjan_dominator_tree(*peer, static_cast<Vertex>(objects),
            boost::make_iterator_property_map(dominator.begin(), boost::get(boost::vertex_index, *peer)));
    hd_dominators *ours = dominators_of(graph);
    for (uint32_t o = 0; o < objects; o++)
        if (reached[o])
            must(dominator[o] == (ours->parent[o] == HD_NONE ? objects : ours->parent[o]), "dominators differ");
    hd_dominators_free(ours);
}

void add_dominators(uint32_t millions, bool peers) {
    const uint32_t objects = millions * 1000000;
    const std::string what = "dominators, " + std::to_string(millions) + " M objects";
    compare(what, "ours", [=](benchmark::State &state) {
        const hd_graph *graph = heap_of(objects);
        for (auto _ : state) hd_dominators_free(dominators_of(graph));
    })->Unit(benchmark::kMillisecond)->Iterations(1)->Repetitions(kRepetitions);
    if (!peers) return;
    using List = boost::adjacency_list<boost::vecS, boost::vecS, boost::bidirectionalS>;
    compare(what, "boost, CSR", [=](benchmark::State &state) { boost_dominators<BoostGraph>(state, objects); })
        ->Unit(benchmark::kMillisecond)->Iterations(1)->Repetitions(1);
    compare(what, "boost, adjacency_list", [=](benchmark::State &state) { boost_dominators<List>(state, objects); })
        ->Unit(benchmark::kMillisecond)->Iterations(1)->Repetitions(1);
}

// About 500 MB of dump: 15 million objects.
const dump_text &netcf_dump(bool scattered) {
    static dump_text text[2];
    if (!text[scattered].data) {
        dump_shape shape{};
        dump_answers answers;
        shape.trees = 4000, shape.tree_size = 4000, shape.garbage = 1000000, shape.types = 2000, shape.missing = 10000;
        shape.scattered = scattered, shape.seed = 1;
        text[scattered] = dump_make(&shape, &answers);
    }
    return text[scattered];
}

// The obvious code: getline, strtok, strtoull, and a map from ids to numbers.
struct Straightforward {
    struct Object { uint64_t type, size; std::vector<uint64_t> references; };
    std::vector<Object> objects;
    std::unordered_map<uint64_t, uint32_t> number;
    std::unordered_map<uint64_t, std::string> types;
    std::vector<uint64_t> roots;
    uint64_t missing = 0;

    void line(char *text) {
        char *rest = text + 1, *word;
        auto next = [&] { word = std::strtok(rest, " "), rest = nullptr; return std::strtoull(word ? word : "", nullptr, 16); };
        if (*text == 'o') {
            const uint64_t id = next();
            number.emplace(id, static_cast<uint32_t>(objects.size()));
            Object object{next(), 0, {}};
            object.size = next();
            for (uint64_t reference = next(); word; reference = next()) object.references.push_back(reference);
            objects.push_back(std::move(object));
        } else if (*text == 't') {
            char *name = std::strchr(text + 2, ' ');
            types.emplace(std::strtoull(text + 2, nullptr, 16), name ? name + 1 : "");
        } else if (*text == 'r') {
            roots.push_back(next());
        }
    }
    void resolve() {
        for (Object &object : objects)
            for (uint64_t &reference : object.references) {
                const auto found = number.find(reference);
                if (found == number.end()) missing++;
                else reference = found->second;
            }
    }
};

void add_netcf(const char *what, bool scattered) {
    const std::string full = std::string("read .NET CF, ") + what;
    const auto add = [&](const char *who, std::function<void(const dump_text &)> run) {
        compare(full, who, [=](benchmark::State &state) {
            const dump_text &text = netcf_dump(scattered);
            for (auto _ : state) run(text);
            state.counters["MB"] = static_cast<double>(text.size) / 1e6;
        })->Unit(benchmark::kMillisecond)->Iterations(1)->Repetitions(2);
    };
    add("ours", [](const dump_text &text) {
        hd_dump *dump = nullptr;
        must(hd_read_as(&hd_format_netcf, hd_in_memory(text.data, text.size), nullptr, &dump, nullptr) == HD_OK,
             "hd_read_as failed");
        must(hd_graph_summarize(hd_dump_graph(dump)).missing_references == 10000, "references are missing");
        hd_dump_free(dump);
    });
    add("ours, record by record", [](const dump_text &text) {
        hd_netcf_reader *reader = nullptr;
        hd_netcf_record record;
        must(hd_netcf_open(hd_in_memory(text.data, text.size), nullptr, &reader, nullptr) == HD_OK, "hd_netcf_open failed");
        do must(hd_netcf_next(reader, &record, nullptr) == HD_OK, "hd_netcf_next failed");
        while (record.kind);
        hd_netcf_close(reader);
    });
    add("getline, strtok, strtoull", [](const dump_text &text) {
        Straightforward reader;
        FILE *file = fmemopen(text.data, text.size, "r");
        char *line = nullptr;
        size_t room = 0;
        for (ssize_t n; (n = getline(&line, &room, file)) > 0;) {
            if (line[n - 1] == '\n') line[n - 1] = 0;
            reader.line(line);
        }
        reader.resolve();
        must(reader.missing == 10000, "references are missing");
        std::free(line);
        std::fclose(file);
    });
    add("memchr for newlines", [](const dump_text &text) {
        const char *at = text.data, *end = at + text.size;
        size_t lines = 0;
        while ((at = static_cast<const char *>(std::memchr(at, '\n', static_cast<size_t>(end - at))))) at++, lines++;
        benchmark::DoNotOptimize(lines);
    });
}

}  // namespace

int main(int argc, char **argv) {
    char interleave[] = "--benchmark_enable_random_interleaving=true";
    std::vector<char *> args(argv, argv + argc);
    args.insert(args.begin() + 1, interleave);
    argc = static_cast<int>(args.size());
    args.push_back(nullptr);
    benchmark::Initialize(&argc, args.data());
    if (benchmark::ReportUnrecognizedArguments(argc, args.data())) return 1;
    add_map<Ours>("ours");
    add_map<Stb>("stb_ds");
    add_map<Unordered>("std::unordered_map");
    add_map<Absl>("absl::flat_hash_map");
    add_map<Boost>("boost::unordered_flat_map");
    add_tracker();
    add_recorder();
    add_export("at least 0.1% of the total", {0, 0.001, 0, 0, 0, 0});
    add_export("at least 64 KiB", {64 * 1024, 0, 0, 0, 0, 0});
    add_export("the top 10 of each", {0, 0, 0, 10, 0, 0});
    add_merge();
    add_merge_breakdowns();
    add_rows();
    add_diff();
    add_reading("heaps_v2 trace", false);
    add_reading("heaps trace", true);
    add_dart();
    add_memprof();
    add_lookup();
    add_rfc();
    add_adding();
    add_netcf("ids ascending", false);
    add_netcf("ids scattered", true);
    for (uint32_t millions : {1u, 5u, 10u, 20u}) add_dominators(millions, millions == 5);
    Table table;
    benchmark::RunSpecifiedBenchmarks(&table);
    return 0;
}
