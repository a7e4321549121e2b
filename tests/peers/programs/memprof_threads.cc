// Threads that allocate by common call stacks and by their own.
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

struct message {
    message *next;
    char text[100];
};

static message *volatile last;

__attribute__((noinline)) static message *send(message *before, int c) {
    message *m = new message;
    m->next = before;
    memset(m->text, c, sizeof m->text);
    last = m;
    return m;
}

static void worker(int id) {
    message *all = nullptr;
    for (int i = 0; i < 50 + id; i++) all = send(all, i);
    char *own = id % 2 ? static_cast<char *>(malloc(1000)) : new char[2000];
    own[id] = 1;
    last = all;
    while (all) {
        message *next = all->next;
        delete all;
        all = next;
    }
    if (id % 2) free(own);
    else delete[] own;
}

int main() {
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; i++) threads.emplace_back(worker, i);
    for (auto &t : threads) t.join();
    worker(7);
    return last == nullptr;
}
