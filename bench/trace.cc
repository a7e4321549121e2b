// Reads a long trace: a gigabyte like Chromium's recordings, with a few heap dumps in it. Peer: simdjson's DOM parser
// on the same bytes. Figures: CPU time of the whole call, including the system's, since others use the machine; and
// the largest resident memory of the process (VmHWM), so each reading is a process of its own.
//
//     build/trace [--mb 1000] [--heaps-mb 100] [--repeat 3] [--keep FILE]
//
// Then it reads a trace of 100 MB of heap dumps, like recordings with all their entries: 40,000 frames, each with its
// own size and the sizes of one or two types.
//
// The trace: B, E, X, i, b, n, e, N, D and O events from a seeded generator, with names, categories and arguments as
// long as Chromium's, escapes, and nested arguments; 0.1% of the bytes are metadata; four heap dumps of 20,000
// entries in the new format and one in heaps_v2.

#define HEAPDUMP_IMPLEMENTATION
#include "../heapdump.h"

#include <fcntl.h>
#include <simdjson.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

[[noreturn]] void die(const char *what) {
    std::fprintf(stderr, "trace: %s\n", what);
    std::exit(1);
}

struct Random {
    uint64_t state;
    uint64_t next() {
        uint64_t x = state += 0x9e3779b97f4a7c15u;
        x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
        x = (x ^ x >> 27) * 0x94d049bb133111ebu;
        return x ^ x >> 31;
    }
    uint64_t below(uint64_t n) { return next() % n; }
};

// ------------------------------------------------------------------------------------ the trace

struct Writer {
    FILE *file = nullptr;
    Random random{2026};
    uint64_t ts = 1234567890, bytes = 0;
    std::string line;

    template <class... Args>
    void put(const char *format, Args... args) {
        char text[1024];
        line.append(text, static_cast<size_t>(std::snprintf(text, sizeof text, format, args...)));
    }
    void flush() {
        if (std::fwrite(line.data(), 1, line.size(), file) != line.size()) die("cannot write the trace");
        bytes += line.size();
        line.clear();
    }
    void head(char phase, const char *category, const char *name) {
        put("{\"pid\":%d,\"tid\":%d,\"ts\":%llu,\"ph\":\"%c\",\"cat\":\"%s\",\"name\":\"%s\"", 12300 + int(random.below(6)),
            12300 + int(random.below(40)), static_cast<unsigned long long>(ts += random.below(30)), phase, category, name);
    }
    void event() {
        static const char *const names[] = {"ThreadControllerImpl::RunTask", "MessageLoop::RunTask", "LayoutView::layout",
                                            "ResourceScheduler::OnReceivedRequest", "V8.GCScavenger", "Layer::update"};
        static const char *const categories[] = {"toplevel", "ipc,toplevel", "disabled-by-default-cc.debug", "blink,benchmark", "v8"};
        const char *name = names[random.below(6)], *category = categories[random.below(5)];
        switch (random.below(10)) {
        case 0: case 1: case 2:
            head('X', category, name);
            put(",\"dur\":%d,\"tdur\":%d,\"tts\":%d,\"args\":{\"src_file\":\"../../third_party/blink/renderer/core/loader/x%d.cc\",\"src_func\":\"Run\"}}",
                int(random.below(9000)), int(random.below(900)), int(random.below(9999999)), int(random.below(300)));
            break;
        case 3: case 4:
            head('B', category, name);
            put(",\"tts\":%d,\"args\":{\"data\":{\"frame\":\"%016llX\",\"nodes\":[[%d,%d],[%d,%d]],\"visible\":true,\"value\":null}}}",
                int(random.below(9999999)), static_cast<unsigned long long>(random.next()), int(random.below(99)), int(random.below(99)),
                int(random.below(99)), int(random.below(99)));
            break;
        case 5: case 6:
            head('E', category, name);
            put(",\"tts\":%d,\"args\":{}}", int(random.below(9999999)));
            break;
        case 7:
            head('i', category, name);
            put(",\"s\":\"t\",\"args\":{\"url\":\"https://example.org/a/%d?q=\\\"%d\\\"&p=C:\\\\temp\\\\%d\",\"line\":\"a\\nb\"}}",
                int(random.below(1000)), int(random.below(1000)), int(random.below(1000)));
            break;
        case 8:
            head('b', category, name);
            put(",\"id\":\"0x%llx\",\"args\":{\"params\":{\"requestId\":\"%d.%d\",\"priority\":\"Low\",\"headers\":{\"v\":%d,\"m\":\"text/html; charset={utf-8}\"}}}}",
                static_cast<unsigned long long>(random.next() >> 20), int(random.below(9999)), int(random.below(99)), int(random.below(9)));
            break;
        default:
            head('N', category, name);
            put(",\"id\":\"0x%llx\",\"args\":{}}", static_cast<unsigned long long>(random.next() >> 20));
        }
    }
    void heaps(int dump) {
        const int frames = 20000;
        if (!dump) {
            put("{\"pid\":12300,\"tid\":1,\"ts\":1,\"ph\":\"M\",\"cat\":\"__metadata\",\"name\":\"stackFrames\",\"args\":{\"stackFrames\":{");
            for (int i = 0; i < frames; i++) {
                put("%s\"%d\":{\"name\":\"blink::Function%d\"", i ? "," : "", i, int(random.below(5000)));
                if (i) put(",\"parent\":\"%d\"", int(random.below(static_cast<uint64_t>(i))));
                put("}");
            }
            put("}}},\n{\"pid\":12300,\"tid\":1,\"ts\":1,\"ph\":\"M\",\"cat\":\"__metadata\",\"name\":\"typeNames\",\"args\":{\"typeNames\":{");
            for (int i = 0; i < 500; i++) put("%s\"%d\":\"blink::Type%d\"", i ? "," : "", i, i);
            put("}}},\n");
            flush();
        }
        put("{\"pid\":12300,\"tid\":1,\"ts\":%llu,\"ph\":\"v\",\"cat\":\"disabled-by-default-memory-infra\",\"name\":\"periodic_interval\",\"id\":\"0x%x\","
            "\"args\":{\"dumps\":{\"level_of_detail\":\"detailed\",\"heaps\":{\"malloc\":{\"entries\":[{\"size\":\"7fffffff\",\"bt\":\"\"}",
            static_cast<unsigned long long>(ts), dump + 1);
        for (int i = 0; i < frames; i++) put(",{\"size\":\"%llx\",\"bt\":\"%d\",\"count\":\"%x\"}", static_cast<unsigned long long>(random.below(1 << 20)), i, int(random.below(999)));
        put("]}}}}},\n");
        flush();
    }
    // Writes two dumps per MB, in the form of hd_chrome_write.
    void write_heaps(uint64_t target) {
        const int frames = 40000, types = 60;
        put("[\n{\"pid\":12300,\"tid\":1,\"ts\":0,\"ph\":\"M\",\"cat\":\"__metadata\",\"name\":\"stackFrames\",\"args\":{\"stackFrames\":{");
        for (int i = 0; i < frames; i++) {
            put("%s\"%d\":{\"name\":\"namespace::Class%d::function%d\"", i ? "," : "", i, int(random.below(97)), int(random.below(5000)));
            if (i) put(",\"parent\":\"%d\"", i - 1 - int(random.below(std::min(static_cast<uint64_t>(i), uint64_t{40}))));
            put("}");
        }
        put("}}},\n{\"pid\":12300,\"tid\":1,\"ts\":0,\"ph\":\"M\",\"cat\":\"__metadata\",\"name\":\"typeNames\",\"args\":{\"typeNames\":{\"0\":\"[unknown]\"");
        for (int i = 1; i < types; i++) put(",\"%d\":\"libobject%d.so\"", i, i);
        put("}}}");
        for (int dump = 0; bytes + line.size() < target; dump++) {
            put(",\n{\"pid\":12300,\"tid\":1,\"ts\":%d,\"ph\":\"v\",\"cat\":\"disabled-by-default-memory-infra\",\"name\":\"periodic_interval\",\"id\":\"0x%x\","
                "\"args\":{\"dumps\":{\"level_of_detail\":\"detailed\",\"heaps\":{\"malloc\":{\"entries\":[\n{\"size\":\"7fffffff\",\"bt\":\"\"}", dump + 1, dump + 1);
            for (int i = 0; i < frames; i++) {
                const unsigned size = static_cast<unsigned>(random.below(1u << random.below(24))), count = 1 + static_cast<unsigned>(random.below(1u << random.below(10)));
                put(",\n{\"size\":\"%x\",\"bt\":\"%d\",\"count\":\"%x\"}", size, i, count);
                for (int type = int(random.below(types / 2)), k = 1 + int(random.below(2)); k; k--, type += types / 2)
                    put(",\n{\"size\":\"%x\",\"bt\":\"%d\",\"type\":\"%d\",\"count\":\"%x\"}", size / 2, i, type, count);
                if (line.size() > 1 << 20) flush();
            }
            put("]}}}}}");
        }
        put("\n]\n");
        flush();
        if (std::fflush(file)) die("cannot write the trace");
    }
    void write(uint64_t target) {
        put("{\"traceEvents\":[\n{\"pid\":12300,\"tid\":1,\"ts\":0,\"ph\":\"M\",\"cat\":\"__metadata\",\"name\":\"process_name\",\"args\":{\"name\":\"Browser\"}},\n");
        for (int part = 0; part < 5; part++) {
            while (bytes + line.size() < target / 5 * static_cast<uint64_t>(part + 1)) {
                event();
                put(",\n");
                if (line.size() > 1 << 20) flush();
            }
            if (part < 4) heaps(part);
        }
        event();
        put("\n],\"metadata\":{\"product-version\":\"Chrome/120\"}}\n");
        flush();
        if (std::fflush(file)) die("cannot write the trace");
    }
};

// ------------------------------------------------------------------------------------- readings

struct Result {
    double seconds, resident_mb;
};

double resident_mb() {
    FILE *f = std::fopen("/proc/self/status", "r");
    char line[256];
    long kb = 0;
    while (f && std::fgets(line, sizeof line, f))
        if (std::sscanf(line, "VmHWM: %ld kB", &kb) == 1) break;
    if (f) std::fclose(f);
    return static_cast<double>(kb) / 1024;
}

double cpu_seconds() {
    rusage use;
    getrusage(RUSAGE_SELF, &use);
    return static_cast<double>(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
           static_cast<double>(use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1e6;
}

// Runs in a child, so that only its memory is measured.
template <class Read>
Result measured(Read read) {
    int ends[2];
    Result result{0, 0};
    if (pipe(ends)) die("no pipe");
    const pid_t child = fork();
    if (child < 0) die("no process");
    if (!child) {
        const double begin = cpu_seconds();
        read();
        result.seconds = cpu_seconds() - begin;
        result.resident_mb = resident_mb();
        if (::write(ends[1], &result, sizeof result) != static_cast<ssize_t>(sizeof result)) _exit(1);
        _exit(0);
    }
    close(ends[1]);
    const bool told = ::read(ends[0], &result, sizeof result) == static_cast<ssize_t>(sizeof result);
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    if (!told || status) die("a reading failed");
    return result;
}

size_t expected_heaps, expected_entries;

void check(hd_status status, hd_dump *const *at) {
    hd_dump *dump = *at;
    if (status || !hd_dump_heap_count(dump) || (expected_heaps && hd_dump_heap_count(dump) != expected_heaps)) die("heaps are missing");
    if (hd_dump_heap(dump, hd_dump_heap_count(dump) - 1)->breakdown->entries.count < expected_entries) die("entries are missing");
    hd_dump_free(dump);
}

int64_t read_fd(void *user, void *buffer, size_t capacity) { return ::read(*static_cast<int *>(user), buffer, capacity); }

void compare(const std::string &name, uint64_t bytes, int repeat, const char *what) {
    struct Line {
        const char *who;
        Result best{1e9, 0};
    };
    Line lines[] = {{"ours, file"}, {"ours, mapped file"}, {"ours, callback"}, {"ours, memory"}, {"simdjson DOM, file"}, {"simdjson DOM, memory"}};
    simdjson::padded_string text;
    for (int round = 0; round < repeat; round++) {
        const Result results[] = {
            measured([&] {
                hd_dump *dump = nullptr;
                check(hd_read_file(name.c_str(), nullptr, &dump, nullptr), &dump);
            }),
            measured([&] {
                hd_dump *dump = nullptr;
                hd_in in;
                if (hd_in_open_mapped(name.c_str(), &in, nullptr)) die("no trace");
                check(hd_read(in, nullptr, &dump, nullptr), &dump);
                hd_in_close(&in);
            }),
            measured([&] {
                hd_dump *dump = nullptr;
                int in = open(name.c_str(), O_RDONLY);
                check(hd_read(hd_in_callback(read_fd, &in), nullptr, &dump, nullptr), &dump);
            }),
            [&] {
                if (text.size() == 0 && simdjson::padded_string::load(name).get(text)) die("simdjson does not load");
                return measured([&] {
                    hd_dump *dump = nullptr;
                    check(hd_read_memory(text.data(), text.size(), nullptr, &dump, nullptr), &dump);
                });
            }(),
            measured([&] {
                simdjson::dom::parser parser;
                simdjson::dom::element root;
                if (parser.load(name).get(root)) die("simdjson does not read");
            }),
            measured([&] {
                simdjson::dom::parser parser;
                simdjson::dom::element root;
                if (parser.parse(text).get(root)) die("simdjson does not read");
            }),
        };
        for (size_t i = 0; i < std::size(lines); i++)
            if (results[i].seconds < lines[i].best.seconds) lines[i].best = results[i];
        text = simdjson::padded_string();  // so that the file readings have no copy of it
    }
    const double size = static_cast<double>(bytes) / 1e6;
    std::printf("\n%-24s %9s %9s %12s   %s\n", what, "seconds", "MB/s", "peak MB", "simdjson's time over this (file, memory)");
    for (const Line &line : lines)
        std::printf("%-24s %9.3f %9.0f %12.1f   %.2f %.2f\n", line.who, line.best.seconds, size / line.best.seconds,
                    line.best.resident_mb, lines[4].best.seconds / line.best.seconds, lines[5].best.seconds / line.best.seconds);
    std::printf("\n%.0f MB. The peak of readings from memory includes the text itself.\n", size);
}

}  // namespace

int main(int argc, char **argv) {
    uint64_t mb = 1000, heaps_mb = 100;
    int repeat = 3;
    const char *keep = nullptr;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (!std::strcmp(argv[i], "--mb")) mb = std::strtoull(argv[i + 1], nullptr, 10);
        if (!std::strcmp(argv[i], "--heaps-mb")) heaps_mb = std::strtoull(argv[i + 1], nullptr, 10);
        if (!std::strcmp(argv[i], "--repeat")) repeat = std::atoi(argv[i + 1]);
        if (!std::strcmp(argv[i], "--keep")) keep = argv[i + 1];
    }
    char path[] = "/tmp/heapdump-trace-XXXXXX";
    const int fd = mkstemp(path);
    const std::string name = keep ? keep : path;
    for (int heaps = 0; heaps < 2; heaps++) {
        const uint64_t target = heaps ? heaps_mb : mb;
        FILE *file = fopen(name.c_str(), "wb");
        if (fd < 0 || !file) die("no file for the trace");
        Writer writer;
        writer.file = file;
        if (!target) std::fclose(file);
        if (!target) continue;
        if (heaps) writer.write_heaps(target * 1000000);
        else writer.write(target * 1000000);
        std::fclose(file);
        expected_heaps = heaps ? 0 : 4;
        expected_entries = heaps ? 90000 : 15000;
        compare(name, writer.bytes, repeat, heaps ? "heaps" : "events");
    }
    if (!keep) unlink(name.c_str());
    unlink(path);
    return 0;
}
