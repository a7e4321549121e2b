/* A few allocations by different call stacks, one in a thread. tests/data has raw profiles of this program. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct node {
    struct node *next;
    int value;
    char pad[40];
};

__attribute__((noinline)) static struct node *make(int value) {
    struct node *n = (struct node *)malloc(sizeof *n);
    n->next = NULL;
    n->value = value;
    return n;
}

__attribute__((noinline)) static struct node *chain(int n) {
    struct node *x = make(n);
    if (n > 1) x->next = chain(n - 1);
    return x;
}

static char *volatile block; /* stops the compiler from removing the calls */

static void *work(void *sum) {
    block = (char *)malloc(1000);
    memset(block, 1, 1000);
    *(int *)sum += block[5];
    free(block);
    return NULL;
}

int main(void) {
    struct node *list = chain(3);
    int sum = 0;
    pthread_t thread;
    for (int k = 0; k < 100; k++)
        for (struct node *n = list; n; n = n->next) sum += n->value;
    for (int i = 1; i < 20; i++) {
        block = (char *)malloc((size_t)i * 10);
        block[0] = (char)i;
        sum += block[0];
        free(block);
    }
    if (pthread_create(&thread, NULL, work, &sum)) return 1;
    pthread_join(thread, NULL);
    while (list) {
        struct node *next = list->next;
        free(list);
        list = next;
    }
    return sum == 0;
}
