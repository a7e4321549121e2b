/* Carries out each byte of its input and answers with the same byte. a: keeps a MiB. p: has 8 MiB for a moment. */
#include <stdlib.h>
#include <unistd.h>

void *volatile kept;

int main(void) {
    char asked;
    while (read(STDIN_FILENO, &asked, 1) == 1) {
        if (asked == 'a') kept = malloc(1 << 20);
        if (asked == 'p') free(kept = malloc(8 << 20));
        if (write(STDOUT_FILENO, &asked, 1) != 1) return 1;
    }
    return 0;
}
