/* Adds up the live heaps of files listed in LIST, one name per line: mpirun -n 8 merge_mpi OUT LIST. Each process
   takes a share of the files. Then sums are merged in pairs, as exact rows, so OUT does not depend on the processes.
   An unreadable file is reported and skipped: status 1. Other failures end all processes, and leave OUT unchanged. */
#include <limits.h>
#include <mpi.h>
#define HEAPDUMP_IMPLEMENTATION
#include "../heapdump.h"
#include "unpack.h"

static struct { char allocator[256]; hd_merger *merger; } sums[64]; /* by allocator name */
static int count, rank; static hd_error err; static hd_dump *dump;

static void must(bool good, const char *message) {
    if (!good) fprintf(stderr, "merge_mpi: rank %d: %s\n", rank, message), MPI_Abort(MPI_COMM_WORLD, 1);
}

static hd_status add_dump(void) {
    hd_status status = HD_OK;
    for (size_t i = 0; i < hd_dump_heap_count(dump); i++) {
        const hd_heap *from = hd_dump_heap(dump, i);
        const char *allocator = from->allocator ? from->allocator : "";
        hd_label labels[256]; int at = 0, order = 1;
        hd_heap heap = { .process = from->process, .allocator = from->allocator, .sample_bytes = from->sample_bytes,
                         .profile = from->profile, .breakdown = from->breakdown, .labels = labels };
        if (from->kind != HD_HEAP_LIVE) continue;
        for (size_t l = 0; l < from->label_count && heap.label_count < 256; l++) /* "profile" names a single file */
            if (strcmp(from->labels[l].name, "profile")) labels[heap.label_count++] = from->labels[l];
        while (at < count && (order = strcmp(allocator, sums[at].allocator)) > 0) at++;
        if (order) {
            must(count < 64 && strlen(allocator) < 256, "at most 64 allocators with names of 255 bytes expected");
            memmove(sums + at + 1, sums + at, (size_t)(count++ - at) * sizeof *sums);
            strcpy(sums[at].allocator, allocator), sums[at].merger = hd_merger_create(NULL, &err);
            must(sums[at].merger != NULL, err.message);
        }
        if (hd_merger_add(sums[at].merger, &heap, &err)) status = err.status;
    }
    return hd_dump_free(dump), status;
}

static hd_status put_sums(hd_out out) {
    hd_heap heaps[2 * 64];       /* for each sum its parts; another merger adds them to its own sum */
    size_t n = 0, parts;
    for (int i = 0; i < count; i++, n += parts)
        must(!hd_merger_finish_parts(sums[i].merger, heaps + n, &parts, &err), err.message);
    return hd_rows_write(heaps, n, HD_ROWS_CSV, NULL, out, &err);
}

static void add_sums(int from) {
    MPI_Status status; int size;
    MPI_Probe(from, 0, MPI_COMM_WORLD, &status), MPI_Get_count(&status, MPI_BYTE, &size);
    void *rows = malloc((size_t)size);
    must(rows != NULL, "out of memory");
    MPI_Recv(rows, size, MPI_BYTE, from, 0, MPI_COMM_WORLD, &status);
    must(!hd_read_memory(rows, (size_t)size, NULL, &dump, &err), err.message);
    must(!add_dump(), err.message), free(rows);
}

int main(int argc, char **argv) {
    hd_options options = { .unpackers = &unpack_gzip, .unpacker_count = 1 };
    hd_buffer rows = { .data = NULL }; hd_file file;
    int ranks, bad = 0, step = 1; char path[4098];
    FILE *list = argc == 3 ? fopen(argv[2], "r") : NULL;
    MPI_Init(&argc, &argv), MPI_Comm_rank(MPI_COMM_WORLD, &rank), MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    must(list != NULL, "usage: merge_mpi OUT LIST, a file of names, one a line");
    for (int i = 0; fgets(path, sizeof path, list); i++)
        if (path[strcspn(path, "\n")] = 0, *path && i % ranks == rank &&
            (hd_read_file(path, &options, &dump, &err) || add_dump()))
            fprintf(stderr, "merge_mpi: %s: %s\n", path, err.message), bad++;
    for (; step < ranks && rank % (2 * step) == 0; step *= 2) if (rank + step < ranks) add_sums(rank + step);
    must(!put_sums(hd_out_memory(&rows)), err.message);
    must(!rank || rows.size <= INT_MAX, "at most 2 GiB of rows expected, as MPI counts in int");
    if (rank) MPI_Send(rows.data, (int)rows.size, MPI_BYTE, rank - step, 0, MPI_COMM_WORLD);
    if (!rank) {
        must(count > 0, "no heaps to add up"), must(!hd_file_create(argv[1], &file, &err), err.message);
        hd_file_out(&file).write(&file, rows.data, rows.size), must(!hd_file_commit(&file, &err), err.message);
    }
    MPI_Allreduce(MPI_IN_PLACE, &bad, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); /* no end before the file exists */
    return MPI_Finalize() || (!rank && bad);
}
