/* A recorded program that overwrites random places of its region: `scribble SEED`, then waits. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int count, char **words) {
    static const uint64_t some[] = { 0, 1, 8, 0xffff, 0x7fffffff, 0xffffffff, (uint64_t)1 << 40, UINT64_MAX };
    uint64_t random = 88172645463325252u + strtoull(count > 1 ? words[1] : "0", NULL, 10) * 0x9e3779b97f4a7c15u;
    char line[4096];
    uint64_t *from = NULL, *to = NULL;
    void *volatile keep;
    FILE *f = fopen("/proc/self/maps", "r");
    for (int i = 0; i < 300; i++) keep = malloc(100);
    while (!from && fgets(line, sizeof line, f))
        if (strstr(line, "memfd:heapdump")) sscanf(line, "%p-%p", (void **)&from, (void **)&to);
    for (int i = 0; from && i < 1 << (random % 12); i++) {
        random ^= random << 13, random ^= random >> 7, random ^= random << 17;
        uint64_t word = random & 2 ? some[random >> 60 & 7] : random >> (random & 63);
        from[(random >> 20) % (random & 1 ? 2048 : 60000)] = word;
    }
    puts("ready"), fflush(stdout);
    sleep(60);
    return 0;
}
