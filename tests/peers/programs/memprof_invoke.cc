#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <unistd.h>
#include <vector>

/* A log that is kept and rarely read, and a table that is read all the time. The arguments select which of the two a
   call makes, and its size. Exceptions turn calls of operator new into `invoke`. */
struct Buffer {
    char *data;
    size_t size;
    explicit Buffer(size_t n) : data(new char[n]), size(n) { data[0] = 1; }
    ~Buffer() { delete[] data; }
};

__attribute__((noinline)) Buffer *make(size_t n) {
    Buffer *made = new Buffer(n);
    if (n > 1u << 20) throw std::length_error("too large");
    return made;
}

__attribute__((noinline)) Buffer *make_log(size_t n) { Buffer *b = make(n); b->data[n - 1] = 1; return b; }
__attribute__((noinline)) Buffer *make_table(size_t n) { Buffer *b = make(n); b->data[n - 1] = 2; return b; }
__attribute__((noinline)) Buffer *make_late(size_t n) { Buffer *b = make(n); b->data[n - 1] = 3; return b; }

__attribute__((noinline)) static unsigned read(const Buffer *b) {
    unsigned sum = 0;
    for (size_t i = 0; i < b->size; i++) sum += (unsigned char)b->data[i];
    return sum;
}

int main(int argc, char **argv) {
    int logs = argc > 1 ? atoi(argv[1]) : 10, tables = argc > 2 ? atoi(argv[2]) : 5, late = argc > 3 ? atoi(argv[3]) : 0;
    int reads_log = argc > 4 ? atoi(argv[4]) : 0;
    unsigned sum = 0;
    std::vector<Buffer *> all;
    std::string name("a name that is too long to stand in the string itself");
    try {
        for (int i = 0; i < logs; i++) all.push_back(make_log(4000));
        for (int i = 0; i < tables; i++) all.push_back(make_table(1000));
        for (int i = 0; i < late; i++) all.push_back(make_late(500));
    } catch (const std::exception &e) { puts(e.what()); }
    for (int round = 0; round < 2000; round++)
        for (size_t i = 0; i < all.size(); i++)
            if (all[i]->size == 1000 || (reads_log && all[i]->size == 4000)) sum += read(all[i]);
    usleep(30000);
    printf("%u %s\n", sum, name.c_str());
    for (Buffer *b : all) delete b;
}
