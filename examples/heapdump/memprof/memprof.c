/* MemProf profiles as heaps; their binaries; raw profiles in info, merge and convert. */

#include "memprof.h"

/* Opens the binaries of --binary. */
int memprof_open_binaries(arguments *a) {
    if (!a->naming.binary_count) return DONE;
    a->naming.opened = needed(calloc(1, sizeof *a->naming.opened));
    a->naming.opened->by_table = a->naming.keep_unresolved;
    for (int i = 0; i < a->naming.binary_count; i++) {
        FREED char *path = realpath(a->naming.binaries[i], NULL);
        symbols_object *o = path ? symbols_object_of(a->naming.opened, hd_cstr(path)) : NULL;
        if (!o || !symbols_know(a->naming.opened, o)) {
            if (o && (o->level != SYMBOLS_ALL || a->naming.opened->none)) symbols_tell(a->naming.opened);
            else
                display(stderr, "heapdump: %s: %s\n", a->naming.binaries[i],
                        path ? "expected an ELF file" : strerror(errno));
            return BAD_INPUT;
        }
    }
    a->naming.opened->given = a->naming.opened->count;
    return DONE;
}

/* The build id shows whether the binary was rebuilt since the recording. */
static void memprof_warn_unused(const symbols_object *o) {
    char id[65];
    symbols_build_id(id, o->build_id, o->build_id_size);
    display(stderr, "heapdump: %s: no call stack has a frame in it", o->path);
    if (*id) display(stderr, " (its build id is %s)", id);
    fputc('\n', stderr);
}

/* Frees the binaries, and reports unused ones: most likely they did not run. */
void memprof_close_binaries(arguments *a, bool tell) {
    for (size_t i = 0; tell && a->naming.opened && i < a->naming.opened->given; i++)
        if (!a->naming.opened->objects[i].used)
            memprof_warn_unused(&a->naming.opened->objects[i]);
    if (a->naming.opened) symbols_free(a->naming.opened);
    free(a->naming.opened);
    free(a->naming.binaries);
}

hd_memprof_symbolizer memprof_symbolizer(const arguments *a, hd_memprof_symbolize_fn names) {
    hd_memprof_symbolizer by = { .user = a->naming.opened, .keep_unresolved = a->naming.keep_unresolved,
                                 .keep_runtime = a->naming.keep_runtime };
    if (a->naming.opened) by.symbolize = names;
    return by;
}

/* Heaps. ---------------------------------------------------------------------------------------- */

/* Makes the heap that the options ask for. */
hd_status memprof_view_heap(const arguments *a, const hd_memprof_raw *raw,
                            hd_memprof_symbolizer symbolizer, hd_heap *heap, bool *made,
                            hd_error *err) {
    static char name[64];
    hd_memprof_view view = { .field = a->memprof.field, .average = a->memprof.average, .split = memprof_split(a),
                             .symbolizer = symbolizer };
    hd_profile *profile;
    hd_status status;
    if (a->naming.opened) {
        view.segment = symbols_file;
        view.user = a->naming.opened;
        symbols_prepare_memprof(a->naming.opened, raw, symbolizer.symbolize == symbols_shown);
        symbols_tell(a->naming.opened);
    }
    status = hd_memprof_profile(raw, &view, NULL, &profile, err);
    if (status) return status;
    heap->profile = profile;
    *made = true;
    if (view.field) {
        snprintf(name, sizeof name, "%s%s", a->memprof.average ? "average " : "", hd_memprof_field_name(view.field));
        heap->allocator = name;
    }
    return HD_OK;
}

/* The heap of a raw profile. The dump's own heap stays if the options ask only for bytes by call stack. */
static hd_status memprof_heap(const arguments *a, const hd_memprof_raw *raw, hd_heap *heap, bool *made,
                       hd_error *err) {
    if (!a->memprof.field && !memprof_split(a) && !a->naming.opened) return HD_OK;
    return memprof_view_heap(a, raw, memprof_symbolizer(a, symbols_shown), heap, made, err);
}

/* info ----------------------------------------------------------------------------------------- */

void memprof_build_id(char text[65], const hd_memprof_segment *s) {
    symbols_build_id(text, s->build_id, s->build_id_size);
}

uint64_t index_sum(uint64_t x, uint64_t y) { return y > UINT64_MAX - x ? UINT64_MAX : x + y; }

/* Adds an id to a hash. */
uint64_t index_hash(uint64_t hash, uint64_t id) {
    hash = (hash ^ id) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 32;
}

/* The total over all blocks of a field that is a count, total, minimum or maximum; false for other fields. */
static bool memprof_total(const hd_memprof_raw *raw, uint32_t field, uint64_t *total) {
    const char *name = hd_memprof_field_name(field);
    bool least = !strncmp(name, "Min", 3), most = !strncmp(name, "Max", 3);
    if (!(raw->fields >> field & 1)) return false;
    if (!least && !most && strncmp(name, "Total", 5) && field != HD_MEMPROF_ALLOC_COUNT) return false;
    *total = least && raw->block_count ? UINT64_MAX : 0;
    for (uint32_t i = 0; i < raw->block_count; i++) {
        uint64_t v = raw->blocks[i].value[field];
        if (least ? v < *total : most && v > *total) *total = v;
        if (!least && !most) *total = index_sum(*total, v);
    }
    return true;
}

/* Prints two totals per line, after a newline. */
void memprof_totals_text(FILE *out, const hd_memprof_raw *raw) {
    uint64_t total;
    int column = 0;
    for (uint32_t f = 1; f < HD_MEMPROF_FIELDS; f++)
        if (memprof_total(raw, f, &total))
            display(out, column++ % 2 ? "  %26s %16llu" : "\n%26s %16llu", hd_memprof_field_name(f),
                    (unsigned long long)total);
    fputc('\n', out);
}

void memprof_totals_json(hd_json *j, const hd_memprof_raw *raw) {
    uint64_t total;
    json_object(j, "totals");
    for (uint32_t f = 1; f < HD_MEMPROF_FIELDS; f++)
        if (memprof_total(raw, f, &total)) json_u64(j, hd_memprof_field_name(f), total);
    hd_json_end(j);
}

void memprof_info_text(FILE *out, const hd_memprof *memprof) {
    for (size_t i = 0; i < hd_memprof_part_count(memprof); i++) {
        const hd_memprof_raw *raw = hd_memprof_part(memprof, i);
        display(out, "profile 0x%zx: version %u, %s-endian, %u segment%s, ", i + 1, raw->version,
                raw->big_endian ? "big" : "little", raw->segment_count, plural(raw->segment_count));
        display(out, "%u block%s, %u call stack%s, %u frame%s, %llu histogram counter%s", raw->block_count,
                plural(raw->block_count), raw->stack_count, plural(raw->stack_count), raw->first[raw->stack_count],
                plural(raw->first[raw->stack_count]), (unsigned long long)raw->counter_count,
                plural(raw->counter_count));
        memprof_totals_text(out, raw);
        display(out, "%18s %18s %18s  %s\n", "start", "end", "offset", "build id");
        for (uint32_t s = 0; s < raw->segment_count; s++) {
            const hd_memprof_segment *segment = &raw->segments[s];
            char id[65];
            memprof_build_id(id, segment);
            display(out, "%#18llx %#18llx %#18llx  %s\n", (unsigned long long)segment->start,
                    (unsigned long long)segment->end, (unsigned long long)segment->offset, *id ? id : "-");
        }
    }
}

void memprof_segments_json(hd_json *j, const hd_memprof_raw *raw) {
    json_array(j, "segments");
    for (uint32_t s = 0; s < raw->segment_count; s++) {
        char id[65];
        memprof_build_id(id, &raw->segments[s]);
        hd_json_object(j);
        json_u64(j, "start", raw->segments[s].start);
        json_u64(j, "end", raw->segments[s].end);
        json_u64(j, "offset", raw->segments[s].offset);
        json_text(j, "build_id", *id ? id : NULL);
        hd_json_end(j);
    }
    hd_json_end(j);
}

void memprof_info_json(hd_json *j, const hd_memprof *memprof) {
    json_array(j, "profiles");
    for (size_t i = 0; i < hd_memprof_part_count(memprof); i++) {
        const hd_memprof_raw *raw = hd_memprof_part(memprof, i);
        json_line(j);
        json_u64(j, "version", raw->version);
        json_bool(j, "big_endian", raw->big_endian);
        memprof_segments_json(j, raw);
        json_u64(j, "blocks", raw->block_count);
        json_u64(j, "call_stacks", raw->stack_count);
        json_u64(j, "frames", raw->first[raw->stack_count]);
        json_u64(j, "histogram_counters", raw->counter_count);
        json_array(j, "fields");
        for (uint32_t f = 1; f < HD_MEMPROF_FIELDS; f++)
            if (raw->fields >> f & 1) hd_json_cstr(j, hd_memprof_field_name(f));
        hd_json_end(j);
        memprof_totals_json(j, raw);
        hd_json_end(j);
    }
    hd_json_end(j);
}

/* merge, convert -------------------------------------------------------------------------------- */

/* The name of the files in messages. */
const char *memprof_files_name(char **files, int count) {
    return count == 1 ? input_name(*files) : "merging";
}

hd_options memprof_options(const arguments *a, reading *r, const char *file) {
    hd_options options = { .lenient = !a->input.strict, .warning = on_warning, .warning_user = r,
                           .deflate = tool_deflate };
    *r = (reading){ .file = file };
    return options;
}

/* Whether a file begins as a raw profile does; `packed`: after unpacking. */
bool memprof_begins(const arguments *a, const char *file, bool packed) {
    uint8_t first[HD_DETECT_FIRST];
    if (a->input.format && !format_is(a->input.format, HD_FORMAT_MEMPROF)) return false;
    return format_begins(first, input_look(file, packed, first), HD_FORMAT_MEMPROF);
}

/* Notes which fields a file has, and which it lacks. */
static void memprof_note_fields(memprof_sum *sum, const char *file, uint32_t fields) {
    sum->fields |= fields;
    for (uint32_t f = 1; f < HD_MEMPROF_FIELDS; f++)
        if (!(fields >> f & 1) && !sum->lacking[f]) sum->lacking[f] = file;
}

/* `reader` (may be NULL) gave the profile last, and no longer needs it. */
static hd_status memprof_add_raw(const char *file, memprof_sum *sum, const hd_memprof_raw *raw,
                                 hd_memprof_reader *reader, hd_error *err) {
    bool is_older = sum->older && raw->version < 3;
    hd_memprof_merger *merger = is_older ? sum->older : sum->merger;
    hd_status status;
    memprof_note_fields(sum, file, raw->fields);
    sum->has_blocks |= raw->block_count != 0;
    if (raw->version > sum->version) sum->version = raw->version;
    if (is_older && !sum->older_file) sum->older_file = file;
    if (!is_older && !sum->later_file) sum->later_file = file;
    status = reader ? hd_memprof_merger_add_taken(merger, reader, err) : hd_memprof_merger_add(merger, raw, err);
    if (!is_older) sum->clashes = status == HD_UNSUPPORTED;
    return status;
}

/* Reports why profiles of a file could not be added; if versions clash, also the command that adds them. */
static void memprof_warn_failed(const memprof_sum *sum, const char *file, const hd_error *err) {
    complain(file, err, "");
    if (!sum->clashes) return;
    display(stderr, "heapdump: try merge --to memprof-index --binary FILE for each program and library: it adds up "
            "all versions\n");
}

/* Reports fields that a sum lacks because some profiles lack them; if there are many, reports the kept fields. */
void memprof_warn_lost(uint32_t had, uint32_t has) {
    uint32_t lost = had & ~has, shown = lost;
    uint32_t count = 0;
    for (uint32_t f = 1; f < HD_MEMPROF_FIELDS; f++) count += lost >> f & 1;
    if (!count) return;
    if (count > 6) {
        display(stderr, "heapdump: %u fields missing in some profiles are left out; kept:", count);
        shown = has;
    } else {
        display(stderr, "heapdump: fields missing in some profiles are left out:");
    }
    for (uint32_t f = 1, first = 1; f < HD_MEMPROF_FIELDS; f++)
        if (shown >> f & 1) display(stderr, "%s %s", first ? "" : ",", hd_memprof_field_name(f)), first = 0;
    fputc('\n', stderr);
}

/* Leaves out an unreadable file if there are others; else fails. */
static int memprof_leave_out(const arguments *a, memprof_sum *sum) {
    if (!sum->is_partial || a->input.strict || a->input.file_count < 2) return BAD_INPUT;
    sum->left_out++;
    return DONE;
}

/* Adds the profiles of a file one by one. Only one is in memory at a time. */
static int memprof_stream(const arguments *a, const char *file, memprof_sum *sum) {
    reading r;
    hd_options options = memprof_options(a, &r, input_name(file));
    const hd_memprof_raw *raw = NULL;
    hd_memprof_reader *reader = NULL;
    uint32_t added = 0;
    hd_error err;
    hd_in in;
    hd_status unread = input_open(file, &in, &err), failed = HD_OK;
    file = input_name(file);
    if (unread) return complain(file, &err, ""), memprof_leave_out(a, sum);
    unread = hd_memprof_open(in, &options, &reader, &err);
    while (!unread && !failed) {
        unread = hd_memprof_next(reader, &raw, &err);
        if (unread || !raw) break;
        failed = memprof_add_raw(file, sum, raw, reader, &err);
        added += !failed;
    }
    if (reader) sum->warnings += hd_memprof_reader_warning_count(reader);
    hd_memprof_close(reader);
    input_close(&in);
    sum->raw += !unread || added;
    err.format = "memprof";
    if (failed) return memprof_warn_failed(sum, file, &err), BAD_INPUT;
    if (!unread) return DONE;
    complain(file, &err, "");
    if (memprof_leave_out(a, sum)) return BAD_INPUT;
    if (added)
        display(stderr, "heapdump: %s: %u profile%s before the error %s added\n", file, added, plural(added),
                added == 1 ? "is" : "are");
    return DONE;
}

/* Adds a file that was read as a whole, because it is indexed, packed or a pipe. */
int memprof_add_dump(const char *file, const hd_dump *dump, memprof_sum *sum) {
    const hd_memprof *memprof = hd_dump_memprof(dump);
    const hd_memprof_index *index = hd_dump_memprof_index(dump);
    hd_status failed = HD_OK;
    hd_error err;
    file = input_name(file);
    if (!memprof && !(index && sum->builder)) {
        display(stderr, "heapdump: %s (%s): expected a %s\n", file, hd_dump_format(dump)->name,
                index ? "raw MemProf profile; merge --to memprof-index adds both kinds" : "MemProf profile");
        return BAD_INPUT;
    }
    sum->warnings += hd_dump_warning_count(dump);
    if (index && sum->builder) {
        sum->indexed++;
        sum->has_blocks |= index->block_count || index->has_accesses;
        if (index->block_count) memprof_note_fields(sum, file, index->fields);
        sum->functions += index_counters(index);
        sum->numbers += index_unknown(index);
        if (index->layout < HD_MEMPROF_RFC && index->layout > sum->layout) sum->layout = index->layout;
        failed = hd_memprof_builder_add(sum->builder, index, &err);
    }
    sum->raw += memprof != NULL;
    for (size_t i = 0; memprof && i < hd_memprof_part_count(memprof) && !failed; i++)
        failed = memprof_add_raw(file, sum, hd_memprof_part(memprof, i), NULL, &err);
    if (failed) memprof_warn_failed(sum, file, &err);
    return failed ? BAD_INPUT : DONE;
}

/* Adds the profiles of a file, raw ones one at a time. */
int memprof_add(const arguments *a, const char *file, memprof_sum *sum) {
    hd_dump *dump;
    int status;
    if (memprof_begins(a, file, false)) return memprof_stream(a, file, sum);
    if (read_dump(file, &a->input, &dump)) return memprof_leave_out(a, sum);
    status = memprof_add_dump(file, dump, sum);
    hd_dump_free(dump);
    return status;
}

/* Fails if no profile could be read. Malformed profiles may have been left out as a whole, or with all of their
   blocks. */
int memprof_check_read(const char *name, const memprof_sum *sum) {
    if ((sum->later_file || sum->older_file || sum->indexed) && (sum->has_blocks || !sum->warnings)) return DONE;
    display(stderr, "heapdump: %s: nothing could be read\n", name);
    return BAD_INPUT;
}

/* Adds up all raw files. `first` is the first of them if it is already read. *version (may be NULL) becomes the
   latest version. *left_out becomes the number of unreadable files; NULL: all files must be readable. */
int memprof_add_up(const arguments *a, const hd_dump *first, hd_memprof **result, uint32_t *version, int *left_out) {
    hd_error err;
    reading r;
    hd_options options = memprof_options(a, &r, "merging");
    memprof_sum sum = { .merger = hd_memprof_merger_create(&options, &err) };
    int status = DONE;
    if (!sum.merger) return failed("merging", &err);
    sum.is_partial = left_out != NULL;
    for (int i = 0; i < a->input.file_count && !status; i++)
        status = i || !first ? memprof_add(a, a->input.files[i], &sum)
                             : memprof_add_dump(a->input.files[0], first, &sum);
    if (!status) status = memprof_check_read(memprof_files_name(a->input.files, a->input.file_count), &sum);
    if (!status && hd_memprof_merger_take(sum.merger, result, &err)) status = failed("merging", &err);
    if (!status) memprof_warn_lost(sum.fields, hd_memprof_part(*result, 0)->fields);
    if (version) *version = sum.version;
    if (left_out) *left_out = sum.left_out;
    hd_memprof_merger_free(sum.merger);
    return status;
}

/* The requested version of raw profiles; 0: as in the file, or an unknown version. */
static uint32_t memprof_raw_version(const arguments *a) {
    const char *v = a->memprof.version;
    return v && *v >= '1' && *v <= '5' && !v[1] ? (uint32_t)(*v - '0') : 0;
}

static int memprof_write(const arguments *a, const char *file, const hd_memprof *memprof) {
    reading r;
    hd_options options = memprof_options(a, &r, file);
    hd_error err;
    hd_status failed = HD_OK;
    uint32_t version = memprof_raw_version(a);
    output o;
    int status = output_open_as(&o, a->out.file, a->out.is_default);
    if (status) return status;
    if (!version) failed = hd_memprof_write(memprof, &options, o.out, &err);
    for (size_t i = 0; version && i < hd_memprof_part_count(memprof) && !failed; i++)
        failed = hd_memprof_write_raw(hd_memprof_part(memprof, i), version, &options, o.out, &err);
    return output_end(&o, a->out.file, output_name(a->out.file), failed, &err);
}

/* Refuses options that do not apply to raw profiles. */
static int memprof_check_whole(const arguments *a) {
    if (a->memprof.version && !memprof_raw_version(a))
        return usage("--memprof-version takes 1 to 5 for raw profiles, not '%s'", a->memprof.version);
    if (a->cut.has_cutoff) return usage("raw profiles take no cut-off options");
    if (a->out.add_to) return usage("--add-to writes a trace: it does not go with memprof-raw");
    if (a->heaps.keep.text || a->heaps.drop.text || a->heaps.root.text || a->view.invert || a->heaps.dump ||
        a->heaps.allocator || a->heaps.has_pid)
        return usage("raw profiles take no filters and no --invert");
    return DONE;
}

void memprof_print_merged(const arguments *a, int left_out) {
    int merged = a->input.file_count - left_out;
    display(stderr, "heapdump: %d file%s merged", merged, merged == 1 ? "" : "s");
    if (left_out) display(stderr, ", %d left out", left_out);
}

int memprof_merge(const arguments *a) {
    hd_memprof *sum = NULL;
    int left_out = 0, status = memprof_check_whole(a);
    if (!status) status = memprof_add_up(a, NULL, &sum, NULL, &left_out);
    if (status) return status;
    status = memprof_write(a, "merging", sum);
    if (!status) {
        memprof_print_merged(a, left_out);
        display(stderr, ": %u block%s\n", hd_memprof_part(sum, 0)->block_count,
                plural(hd_memprof_part(sum, 0)->block_count));
    }
    hd_memprof_free(sum);
    return status || !left_out ? status : BAD_INPUT;
}

int memprof_convert(const arguments *a) {
    hd_dump *dump;
    int status = memprof_check_whole(a);
    if (!status) status = read_dump(a->input.files[0], &a->input, &dump);
    if (status) return status;
    if (hd_dump_memprof(dump)) {
        status = memprof_write(a, a->input.files[0], hd_dump_memprof(dump));
    } else {
        display(stderr, "heapdump: %s (%s): expected a raw MemProf profile, for --to memprof-raw\n",
                a->input.files[0], hd_dump_format(dump)->name);
        status = BAD_INPUT;
    }
    hd_dump_free(dump);
    return status;
}

/* Applies --metric, --by and --binary to MemProf profiles. */
hd_status memprof_view(const arguments *a, const hd_dump *dump, size_t number, hd_heap *heap, bool *made,
                       hd_error *err) {
    const hd_memprof *raw = hd_dump_memprof(dump);
    const hd_memprof_index *index = hd_dump_memprof_index(dump);
    if (raw) return memprof_heap(a, hd_memprof_part(raw, number), heap, made, err);
    return index ? index_heap(a, index, heap, made, err) : HD_OK;
}
