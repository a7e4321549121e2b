/* V8 heap snapshots, read strictly and leniently, from memory and in pieces; then analysed, written, and read
   again. */
#include "../tests/private.h"
#include "pieces.h"

/* Node 0 holds all; a dominator holds its objects, and without it, all that it retains is unreachable. */
static void analyse(const hd_graph *g) {
    hd_dominators *d;
    hd_total total;
    uint32_t top[3], n;
    CHECK(!hd_graph_validate(g, NULL) && !hd_graph_dominators(g, NULL, &d, NULL));
    CHECK(d->reached == d->count && (!d->count || (d->retained[0] == d->bytes && d->parent[0] == HD_NONE)));
    n = hd_dominators_top(d, 3, top);
    for (uint32_t i = 0; i < n; i++)
        CHECK(!hd_graph_retained(g, &top[i], 1, NULL, &total, NULL) && total.bytes == d->retained[top[i]]);
    hd_dominators_free(d);
}

/* A distance is unknown, or at most one step for each node, counted from 0 or from HD_V8_SYSTEM. */
static void measure(const hd_dump *doc) {
    uint32_t n = hd_graph_object_count(hd_dump_graph(doc)), *distances = malloc(((size_t)n + 1) * sizeof *distances);
    CHECK(!hd_v8_distances(hd_dump_v8(doc), NULL, distances, NULL));
    CHECK(!n || !distances[0] || distances[0] == HD_V8_SYSTEM);
    for (uint32_t i = 0; i < n; i++) CHECK(distances[i] == HD_NONE || distances[i] <= HD_V8_SYSTEM + n);
    free(distances);
}

/* Compares a snapshot with itself: common objects keep their class, and no id changes its object if ids are
   unique. */
static void compare(const hd_dump *doc) {
    hd_identity_change *change;
    uint64_t kept = 0, objects = 0;
    CHECK(!hd_v8_diff(hd_dump_v8(doc), hd_dump_v8(doc), NULL, NULL, &change, NULL));
    for (uint32_t i = 0; i < change->count; i++) {
        const hd_identity_row *r = &change->rows[i];
        CHECK(r->kept <= r->objects[0] && r->kept <= r->objects[1]);
        kept += r->kept;
        objects += r->objects[0];
    }
    CHECK(kept == change->kept && objects == hd_graph_summarize(hd_dump_graph(doc)).objects);
    CHECK(change->common == objects && change->renamed <= change->common);
    hd_identity_change_free(change);
}

/* Reads every value of the document. */
static void look(const hd_dump *doc) {
    const hd_graph *g = hd_dump_graph(doc);
    for (uint32_t o = 0; o < hd_graph_object_count(g); o++) {
        hd_object x = hd_graph_object(g, o);
        CHECK(!hd_v8_name_lost(hd_dump_v8(doc), o) || hd_dump_warning_count(doc));
        CHECK(hd_v8_type(hd_dump_v8(doc), o).data && hd_v8_name(hd_dump_v8(doc), o).data
              && hd_v8_value(hd_dump_v8(doc), o, "detachedness") + 1);
        CHECK(hd_v8_detachedness(hd_dump_v8(doc), o) <= HD_V8_DETACHED);
        for (uint32_t i = 0; i < x.reference_count && i < 9; i++) {
            uint32_t index = hd_graph_index(g, o, i);
            CHECK(hd_v8_edge_type(hd_dump_v8(doc), o, i).data && (!hd_graph_field(g, o, i).len || index == HD_NONE));
            CHECK(hd_v8_index(hd_dump_v8(doc), o, i) == index
                  || (index == HD_NONE && hd_v8_index(hd_dump_v8(doc), o, i) >= HD_NONE / 2));
        }
    }
}

/* Locations and call stacks; frames beyond the capacity are only counted. */
static void look_at_origins(const hd_dump *doc, hd_options options) {
    hd_v8_origins *origins = NULL;
    hd_error err = { 0 };
    hd_status status = hd_v8_origins_read(hd_dump_v8(doc), &options, &origins, &err);
    CHECK(err.status == status && !origins == !!status);
    for (uint32_t o = 0; origins && o < hd_graph_object_count(hd_dump_graph(doc)); o++) {
        hd_v8_place place, frames[4];
        uint32_t depth = hd_v8_stack(origins, o, frames, 4);
        CHECK(depth <= 1024 && (!hd_v8_location(origins, o, &place) || place.script.data));
        for (uint32_t f = 0; f < depth && f < 4; f++) CHECK(frames[f].function.data && frames[f].script.data);
    }
    hd_v8_origins_free(origins);
}

/* Written and read again, a document is equal; written a second time, it gives the same bytes. */
static void rewrite(const hd_dump *doc) {
    hd_buffer once = { 0 }, twice = { 0 };
    hd_dump *again;
    CHECK(!hd_v8_write(hd_dump_v8(doc), NULL, hd_out_memory(&once), NULL));
    CHECK(!hd_read_as(&hd_format_v8, hd_in_memory(once.data, once.size), NULL, &again, NULL));
    CHECK(!hd_v8_write(hd_dump_v8(again), NULL, hd_out_memory(&twice), NULL));
    CHECK(once.size == twice.size && !memcmp(once.data, twice.data, once.size));
    CHECK(hd_graph_summarize(hd_dump_graph(doc)).references == hd_graph_summarize(hd_dump_graph(again)).references);
    hd_dump_free(again);
    hd_buffer_free(&once);
    hd_buffer_free(&twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    hd_status status[4];
    uint64_t warnings[4] = { 0 };
    for (int run = 0; run < 4; run++) {
        hd_in in = hd_in_memory(data, size), left = in;
        hd_options options = { .lenient = run / 2, .limits.max_memory = 512 * size + 1048576 };
        hd_dump *doc = NULL;
        hd_error err = { 0 };
        if (run % 2) in = hd_in_callback(read_piece, &left);
        status[run] = hd_read_as(&hd_format_v8, in, &options, &doc, &err);
        CHECK(err.status == status[run] && !doc == !!status[run]);
        if (doc) {
            warnings[run] = hd_dump_warning_count(doc);
            rewrite(doc);
            look(doc);
            measure(doc);
            compare(doc);
            look_at_origins(doc, options);
            if (run % 2) analyse(hd_dump_graph(doc));
        }
        hd_dump_free(doc);
    }
    CHECK(warnings[2] <= 1 && status[0] == status[1] && status[2] == status[3] && warnings[2] == warnings[3]);
    CHECK(!status[0] <= !status[2] && (status[2] || !status[0] == !warnings[2]));
    return 0;
}
