/* Reads and writes snapshots for dart.sh.

       dart_tool facts FILE             totals, one per line; and whether it is written back unchanged
       dart_tool classes FILE           count without objects of size zero, bytes, count, live count, live bytes,
                                        name, URI: tab-separated
       dart_tool repeat FILE N OUT      writes the content N times over
       dart_tool cut FILE OUT           writes a few objects of each kind
       dart_tool retained FILE N        reads, finds dominators, prints the N largest retained sizes
       dart_tool stream FILE            the histogram by class, record by record: needs memory only for classes */
#include <inttypes.h>
#include <stdio.h>
#define HEAPDUMP_IMPLEMENTATION
#include "../../../heapdump.h"
#include "../../dart.h"

static hd_error err;
static void must(hd_status status) {
    if (!status) return;
    fprintf(stderr, "dart_tool: %s (offset %" PRIu64 ")\n", err.message, err.offset);
    exit(1);
}

static hd_status compare(void *user, const void *data, size_t size) {
    hd_in *left = (hd_in *)user;
    if (size > left->size || memcmp(left->data, data, size)) return HD_INVALID;
    left->data += size;
    left->size -= size;
    return HD_OK;
}

static void facts(hd_in in) {
    hd_dump *doc;
    must(hd_read_as(&hd_format_dart, in, NULL, &doc, &err));
    const hd_graph *g = hd_dump_graph(doc);
    hd_graph_summary s = hd_graph_summarize(g);
    hd_dart_header_info h = hd_dart_header(hd_dump_dart(doc));
    hd_in left = in;
    uint64_t tags[9] = { 0 }, hashed = 0, shallow = 0;
    hd_total live = { 0, 0 };
    for (uint32_t i = 0; i < s.objects; i++) {
        tags[hd_dart_data(hd_dump_dart(doc), i).tag]++;
        hashed += hd_dart_identity(hd_dump_dart(doc), i) != 0;
        shallow += hd_dart_shallow(hd_dump_dart(doc), i);
    }
    must(hd_graph_reach(g, NULL, 0, NULL, NULL, &live, &err));
    printf("objects %" PRIu64 "\nreferences %" PRIu64 "\nclasses %" PRIu64 "\nshallow %" PRIu64 "\nheader %" PRIu64 "\n", s.objects,
           s.references, s.classes, shallow, h.shallow_size);
    for (uint32_t i = 0; i < 9; i++) printf("%s %" PRIu64 "\n", hd_dart_tag_name(i), tags[i]);
    printf("identities %" PRIu64 "\nreachable %" PRIu64 "\n", hashed, live.objects);
    hd_status same = hd_dart_write(hd_dump_dart(doc), NULL, hd_out_callback(compare, &left), NULL);
    printf("%s\n", !same && !left.size ? "identical" : "NOT written back as it was");
    hd_dump_free(doc);
}

static void classes(hd_in in) {
    hd_dump *doc;
    must(hd_read_as(&hd_format_dart, in, NULL, &doc, &err));
    const hd_graph *g = hd_dump_graph(doc);
    uint32_t n = hd_graph_class_count(g), objects = (uint32_t)hd_graph_summarize(g).objects;
    uint8_t *reached = malloc(hd_graph_object_count(g) + 1);
    uint64_t (*sums)[5] = calloc(n, sizeof *sums);
    hd_total live;
    if (!reached || !sums) exit(1);
    must(hd_graph_reach(g, NULL, 0, NULL, reached, &live, &err));
    for (uint32_t i = 0; i < objects; i++) {
        uint64_t *sum = sums[hd_graph_object(g, i).class_index], size = hd_dart_shallow(hd_dump_dart(doc), i);
        sum[0] += size != 0;
        sum[1] += size;
        sum[2]++;
        sum[3] += reached[i];
        sum[4] += reached[i] ? size : 0;
    }
    for (uint32_t i = 1; i < n; i++) {
        hd_dart_class_info c = hd_dart_class(hd_dump_dart(doc), i);
        if (!sums[i][2]) continue;
        for (int k = 0; k < 5; k++) printf("%" PRIu64 "\t", sums[i][k]);
        printf("%.*s\t%.*s\n", (int)c.name.len, c.name.data, (int)c.library_uri.len, c.library_uri.data);
    }
    free(reached);
    free(sums);
    hd_dump_free(doc);
}

/* For each tag up to 12 objects that are reachable and small; the root; and their first references. */
static void cut(hd_in in, FILE *file) {
    enum { MOST = 12 };
    hd_dump *doc;
    must(hd_read_as(&hd_format_dart, in, NULL, &doc, &err));
    const hd_graph *g = hd_dump_graph(doc);
    uint32_t n = (uint32_t)hd_graph_summarize(g).objects, count = 0, used = 0, tags[9] = { 0 };
    uint32_t *id = calloc(n + 1, 4), *class_id = calloc(hd_graph_class_count(g), 4);
    uint8_t *reached = malloc(hd_graph_object_count(g) + 1);
    snap s = { 0 }, body = { 0 };
    hd_total live;
    if (!id || !class_id || !reached) exit(1);
    must(hd_graph_reach(g, NULL, 0, NULL, reached, &live, &err));
    for (uint32_t i = 0; i < n; i++) {
        hd_object o = hd_graph_object(g, i);
        uint32_t tag = hd_dart_data(hd_dump_dart(doc), i).tag;
        if (i >= 64 && i % 97 && tag != HD_DART_UTF16) continue;
        if (i && (o.reference_count > 8 || tags[tag]++ >= MOST)) continue;
        id[i] = 1;
        for (uint32_t k = 0; k < o.reference_count && k < 2; k++)
            if (hd_graph_object(g, o.references[k]).reference_count < 9) id[o.references[k]] = 1;
    }
    id[n] = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (!id[i]) continue;
        hd_object o = hd_graph_object(g, i);
        id[i] = ++count;
        if (!class_id[o.class_index]) class_id[o.class_index] = 1;
    }
    for (uint32_t i = 1; i < hd_graph_class_count(g); i++)
        if (class_id[i]) class_id[i] = ++used;
    hd_dart_header_info h = hd_dart_header(hd_dump_dart(doc));
    h.class_count = used;
    snap_header(&s, &h);
    for (uint32_t i = 1; i < hd_graph_class_count(g); i++)
        if (class_id[i]) snap_class(&s, hd_dart_class(hd_dump_dart(doc), i));
    uint64_t references = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (!id[i]) continue;
        hd_object o = hd_graph_object(g, i);
        hd_dart_value data = hd_dart_data(hd_dump_dart(doc), i);
        uint64_t kept = 0;
        snap_uleb(&body, class_id[o.class_index]);
        snap_uleb(&body, hd_dart_shallow(hd_dump_dart(doc), i));
        snap_data(&body, &data);
        for (uint32_t k = 0; k < o.reference_count; k++) kept += i ? 1 : id[o.references[k]] != 0;
        snap_uleb(&body, kept);
        for (uint32_t k = 0; k < o.reference_count; k++)
            if (i || id[o.references[k]]) snap_uleb(&body, id[o.references[k]]);
        references += kept;
    }
    snap_uleb(&s, references);
    snap_uleb(&s, count);
    snap_bytes(&s, body.data, body.size);
    snap_uleb(&s, hd_dart_external_count(hd_dump_dart(doc)));
    for (size_t i = 0; i < hd_dart_external_count(hd_dump_dart(doc)); i++) {
        hd_dart_external_info x = hd_dart_external(hd_dump_dart(doc), i);
        snap_uleb(&s, x.object == HD_NONE ? 0 : id[x.object]);
        snap_uleb(&s, x.size);
        snap_text(&s, x.name);
    }
    for (uint32_t i = 0; i < n; i++)
        if (id[i]) snap_uleb(&s, hd_dart_identity(hd_dump_dart(doc), i));
    fwrite(s.data, 1, s.size, file);
    free(s.data), free(body.data), free(id), free(class_id), free(reached);
    hd_dump_free(doc);
}

static void retained(const char *path, uint32_t n) {
    hd_dump *dump;
    hd_dominators *d;
    uint32_t *top = calloc(n, 4);
    must(hd_read_file(path, NULL, &dump, &err));
    const hd_graph *g = hd_dump_graph(dump);
    must(hd_graph_dominators(g, NULL, &d, &err));
    n = hd_dominators_top(d, n, top);
    for (uint32_t i = 0; i < n; i++) {
        hd_object o = hd_graph_object(g, top[i]);
        hd_str name = hd_graph_class(g, o.class_index).name;
        printf("%12" PRIu64 " %12" PRIu64 " %8" PRIu64 " %.*s\n", d->retained[top[i]], o.size, o.id, (int)name.len, name.data);
    }
    free(top);
    hd_dominators_free(d);
    hd_dump_free(dump);
}

static void stream(hd_in in) {
    hd_dart_reader *r;
    hd_dart_record record;
    uint64_t (*sums)[2] = NULL, objects = 0;
    must(hd_dart_open(in, NULL, &r, &err));
    do {
        must(hd_dart_next(r, &record, &err));
        if (record.kind == 'c' && record.id == 1) sums = calloc(hd_dart_reader_header(r)->class_count + 1, sizeof *sums);
        if (record.kind != 'o' || !sums) continue;
        objects++;
        sums[record.class_id][0]++;
        sums[record.class_id][1] += record.size;
    } while (record.kind);
    uint64_t most = 0;
    for (uint64_t i = 0; i <= hd_dart_reader_header(r)->class_count; i++)
        if (sums && sums[i][1] > sums[most][1]) most = i;
    if (sums) printf("%" PRIu64 " objects; class %" PRIu64 " has %" PRIu64 " and %" PRIu64 " bytes\n", objects, most, sums[most][0], sums[most][1]);
    hd_dart_close(r);
    free(sums);
}

int main(int argc, char **argv) {
    hd_in in;
    const char *mode = argc > 2 ? argv[1] : "";
    if (argc < 3) return fprintf(stderr, "usage: see dart_tool.c\n"), 2;
    if (!strcmp(mode, "retained")) return retained(argv[2], argc > 3 ? (uint32_t)atoi(argv[3]) : 20), 0;
    must(hd_in_open_mapped(argv[2], &in, &err));
    if (!strcmp(mode, "facts")) facts(in);
    else if (!strcmp(mode, "classes")) classes(in);
    else if (!strcmp(mode, "stream")) stream(in);
    else if (!strcmp(mode, "repeat") || !strcmp(mode, "cut")) {
        FILE *file = fopen(argv[argc - 1], "wb");
        if (!file) return 1;
        if (*mode == 'c') cut(in, file);
        else dart_repeat(in.data, (size_t)in.size, (uint32_t)atoi(argv[3]), hd_out_file(file));
        if (fclose(file)) return 1;
    }
    hd_in_close(&in);
    return 0;
}
