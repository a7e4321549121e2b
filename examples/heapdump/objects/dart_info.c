/* heapdump info: snapshots of Dart. */

#include "objects.h"

enum { TAGS = HD_DART_NAME + 1 };

/* The facts that info prints; freed with facts_free. */
typedef struct dart_facts {
    uint64_t tags[TAGS], identities;
    hd_total live;
    hd_library_table *libraries;
    hd_length_table *lengths;
    const hd_length_row **longest; /* rows of lengths, longest first */
} dart_facts;

static int longer(const void *a, const void *b) {
    const hd_length_row *r = *(const hd_length_row *const *)a, *s = *(const hd_length_row *const *)b;
    if (r->length != s->length) return r->length < s->length ? 1 : -1;
    return r->object < s->object ? -1 : r->object > s->object;
}

static void facts_free(dart_facts *f) {
    free(f->longest);
    hd_library_table_free(f->libraries);
    hd_length_table_free(f->lengths);
}

static int facts_find(const char *file, const hd_dump *dump, dart_facts *f) {
    const hd_graph *graph = hd_dump_graph(dump);
    const hd_dart *dart = hd_dump_dart(dump);
    uint64_t n = hd_graph_summarize(graph).objects;
    FREED uint8_t *reached = NULL;
    hd_error err;
    hd_status status;
    memset(f, 0, sizeof *f);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t tag = hd_dart_data(dart, i).tag;
        if (tag < TAGS) f->tags[tag]++;
        f->identities += hd_dart_identity(dart, i) != 0;
    }
    reached = reach(file, graph, &f->live);
    if (!reached) return BAD_INPUT;
    status = hd_dart_libraries(dart, reached, NULL, &f->libraries, &err);
    if (!status) status = hd_dart_lengths(dart, NULL, NULL, &f->lengths, &err);
    if (status) {
        facts_free(f);
        return failed(file, &err);
    }
    f->longest = needed(malloc(((size_t)f->lengths->count + 1) * sizeof *f->longest));
    for (uint32_t i = 0; i < f->lengths->count; i++) f->longest[i] = &f->lengths->rows[i];
    qsort(f->longest, f->lengths->count, sizeof *f->longest, longer);
    return DONE;
}

static void put_length(const arguments *a, FILE *out, const hd_graph *graph, const hd_length_row *row) {
    display(out, "%12llu %10llu ", (unsigned long long)row->length, (unsigned long long)row->objects);
    put_bytes(out, a, row->bytes, 12);
    display(out, " %10llu  ", (unsigned long long)hd_graph_object(graph, row->object).id);
    put_class(out, graph, row->class_index);
    fputc('\n', out);
}

static void put_lengths(const arguments *a, FILE *out, const hd_graph *graph, const dart_facts *f) {
    uint32_t n = f->lengths->count, most = shown_of(a, 5), i;
    if (!n) return;
    display(out, "lists, maps and sets by class and length, most bytes first\n%12s %10s %12s %10s  %s\n",
            "length", "objects", "bytes", "first id", "class");
    for (i = 0; i < n && i < most; i++) put_length(a, out, graph, &f->lengths->rows[i]);
    put_more(out, n, i);
    if (i == n) return;
    display(out, "the longest\n");
    for (i = 0; i < n && i < most; i++) put_length(a, out, graph, f->longest[i]);
}

static void put_libraries(const arguments *a, FILE *out, const hd_library_table *table) {
    uint32_t most = shown_of(a, 5), i;
    display(out, "libraries\n%12s %10s %12s %10s %8s  %s\n", "live bytes", "live", "bytes", "objects",
            "classes", "library");
    for (i = 0; i < table->count && i < most; i++) {
        const hd_library_row *row = &table->rows[i];
        put_bytes(out, a, row->live_bytes, 12), display(out, " %10llu ", (unsigned long long)row->live_objects);
        put_bytes(out, a, row->bytes, 12);
        display(out, " %10llu %8llu  ", (unsigned long long)row->objects, (unsigned long long)row->classes);
        if (!row->name.len && !row->uri.len) display(out, "(the VM's own)");
        put_name(out, row->name);
        if (row->uri.len) display(out, row->name.len ? "  (" : "("), put_name(out, row->uri), fputc(')', out);
        fputc('\n', out);
    }
    put_more(out, table->count, i);
}

int dart_info_text(const arguments *a, const char *file, FILE *out, const hd_dump *dump) {
    const hd_dart *dart = hd_dump_dart(dump);
    hd_dart_header_info h = hd_dart_header(dart);
    dart_facts f;
    if (facts_find(file, dump, &f)) return BAD_INPUT;
    display(out, "%12llu object%s that the root holds, ", (unsigned long long)f.live.objects, plural(f.live.objects));
    put_bytes_named(out, a, f.live.bytes), fputc('\n', out);
    display(out, "%12zu external propert%s\n", hd_dart_external_count(dart),
            hd_dart_external_count(dart) == 1 ? "y" : "ies");
    if (h.has_identity)
        display(out, "%12llu identity hash code%s not 0\n", (unsigned long long)f.identities,
                f.identities == 1 ? " that is" : "s that are");
    else display(out, "             no identity hash codes\n");
    display(out, "isolate "), put_name(out, h.name);
    display(out, ", flags %llu; as the VM counts: ", (unsigned long long)h.flags);
    put_bytes_named(out, a, h.shallow_size), display(out, " of objects, ");
    put_bytes(out, a, h.external_size, 0), display(out, " external, ");
    put_bytes(out, a, h.capacity, 0), display(out, " capacity\n");
    display(out, "objects by their data\n");
    for (uint32_t tag = 0; tag < TAGS; tag++)
        display(out, "%12llu %s\n", (unsigned long long)f.tags[tag], hd_dart_tag_name(tag));
    put_libraries(a, out, f.libraries);
    put_lengths(a, out, hd_dump_graph(dump), &f);
    facts_free(&f);
    return DONE;
}

static void json_libraries(hd_json *j, const hd_library_table *table) {
    json_array(j, "libraries");
    for (uint32_t i = 0; i < table->count; i++) {
        const hd_library_row *row = &table->rows[i];
        json_line(j);
        json_str(j, "name", row->name);
        json_str(j, "uri", row->uri);
        json_u64(j, "live_bytes", row->live_bytes);
        json_u64(j, "live_objects", row->live_objects);
        json_u64(j, "bytes", row->bytes);
        json_u64(j, "objects", row->objects);
        json_u64(j, "classes", row->classes);
        hd_json_end(j);
    }
    hd_json_end(j);
}

static void json_lengths(hd_json *j, const hd_graph *graph, const hd_length_table *table) {
    json_array(j, "lengths");
    for (uint32_t i = 0; i < table->count; i++) {
        const hd_length_row *row = &table->rows[i];
        json_line(j);
        json_class(j, graph, row->class_index);
        json_u64(j, "length", row->length);
        json_u64(j, "objects", row->objects);
        json_u64(j, "bytes", row->bytes);
        hd_json_key(j, "first_id"), hd_json_decimal(j, hd_graph_object(graph, row->object).id);
        hd_json_end(j);
    }
    hd_json_end(j);
}

int dart_info_json(const char *file, hd_json *j, const hd_dump *dump) {
    const hd_dart *dart = hd_dump_dart(dump);
    hd_dart_header_info h = hd_dart_header(dart);
    dart_facts f;
    if (facts_find(file, dump, &f)) return BAD_INPUT;
    json_object(j, "dart");
    json_str(j, "isolate", h.name);
    json_u64(j, "flags", h.flags);
    json_u64(j, "shallow_size", h.shallow_size);
    json_u64(j, "external_size", h.external_size);
    json_u64(j, "capacity", h.capacity);
    json_u64(j, "live_objects", f.live.objects);
    json_u64(j, "live_bytes", f.live.bytes);
    json_u64(j, "external_properties", hd_dart_external_count(dart));
    json_known(j, "identities", h.has_identity ? f.identities : HD_UNKNOWN);
    json_object(j, "tags");
    for (uint32_t tag = 0; tag < TAGS; tag++)
        json_u64(j, hd_dart_tag_name(tag), f.tags[tag]);
    hd_json_end(j);
    json_libraries(j, f.libraries);
    json_lengths(j, hd_dump_graph(dump), f.lengths);
    hd_json_end(j);
    facts_free(&f);
    return DONE;
}
