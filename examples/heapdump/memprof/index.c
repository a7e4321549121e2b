/* heapdump index: makes indexed MemProf profiles, and writes them. */

#include "memprof.h"

#include <fcntl.h>
#include <sys/stat.h>

void index_close(index_source *s) {
    hd_memprof_index_free(s->built);
    hd_dump_free(s->dump);
}

/* The requested version, or NULL. */
const char *index_version(const arguments *a) {
    return !a->memprof.version && a->memprof.like ? (strcmp(a->memprof.like, "19") ? "3" : "0") : a->memprof.version;
}

/* Whether fields are requested that do not serve to distinguish hot from cold. */
bool index_is_full(const arguments *a) {
    const char *v = index_version(a);
    if (a->memprof.hints || a->memprof.hot_cold_schema) return false;
    return a->memprof.full_schema || (v && strcmp(v, "2") && strcmp(v, "3") && strcmp(v, "4"));
}

/* Builds an index of the raw profile of `file`. If `doc` is not NULL, it owns the profile, and gives it up. */
int index_build(symbols *opened, const char *file, const hd_memprof_raw *raw, hd_memprof *doc, bool skips_new,
                hd_memprof_index **out) {
    symbols_counts x;
    hd_memprof_symbolizer by = { .symbolize = symbols_counted, .user = &x };
    hd_memprof_symbols *found = NULL;
    hd_error err;
    int status = DONE;
    symbols_counts_make(&x, opened, raw);
    x.skips_new = skips_new;
    if (!x.names) {
        usage("%s needs --binary FILE for each profiled program and library", file);
        status = WRONG_USAGE;
        if (!hd_memprof_symbolize(raw, &by, NULL, &found, &err)) symbols_warn_absent(&x);
        hd_memprof_symbols_free(found);
    } else {
        hd_status failed;
        symbols_prepare_memprof(x.names, raw, false);
        failed = doc ? hd_memprof_index_take(doc, raw->fields, &by, NULL, out, &err)
                     : hd_memprof_index_build(raw, &by, NULL, out, &err);
        symbols_tell(x.names);
        symbols_warn_unnamed(&x);
        if (!failed && !symbols_given_whole(x.names)) { /* the compiler would take the profile as complete */
            hd_memprof_index_free(*out);
            *out = NULL;
            status = BAD_INPUT;
        }
        if (failed) complain(file, &err, ""), status = BAD_INPUT;
    }
    symbols_counts_free(&x);
    return status;
}

/* Whether a file is a single raw profile without packing, which can be read as it is. */
static bool index_is_single(const arguments *a, const char *file) {
    unsigned char header[24];
    struct stat st;
    uint64_t total = 0;
    bool may_be = !input_is_pipe(file) && memprof_begins(a, file, false);
    int fd = may_be ? open(file, O_RDONLY | O_CLOEXEC) : -1;
    bool found = fd >= 0 && !fstat(fd, &st) && read(fd, header, sizeof header) == (ssize_t)sizeof header;
    if (fd >= 0) close(fd);
    for (int i = 0; found && i < 8; i++) total = total << 8 | header[*header == 0x81 ? 23 - i : 16 + i];
    return found && total >= (uint64_t)st.st_size;
}

static int index_read_single(const arguments *a, const char *file, hd_dump **out) {
    reading r;
    hd_options options = memprof_options(a, &r, file);
    hd_error err;
    hd_in in;
    hd_status status = hd_in_open(file, &in, &err);
    const hd_memprof *raw;
    options.no_heaps = true;
    if (!status) {
        status = hd_read_as(&hd_format_memprof, in, &options, out, &err);
        hd_in_close(&in);
    }
    if (status) return failed(file, &err);
    raw = hd_dump_memprof(*out);
    if (hd_memprof_part_count(raw) && (hd_memprof_part(raw, 0)->block_count || !hd_dump_warning_count(*out)))
        return DONE;
    hd_dump_free(*out);
    *out = NULL;
    return memprof_check_read(file, &(memprof_sum){ 0 });
}

/* Reads one raw file as llvm-profdata does. Its profiles are added up by address, so call stacks that become equal
   only when they are named stay separate. */
static int index_open_raw(const arguments *a, index_source *s) {
    reading r;
    hd_options options = memprof_options(a, &r, s->name);
    memprof_sum sum = { .merger = needed(hd_memprof_merger_create(&options, NULL)) };
    hd_memprof *made = NULL, *file;
    hd_dump *single = NULL;
    hd_memprof_raw raw;
    hd_error err;
    int status;
    hd_memprof_merger_keep_order(sum.merger);
    if (index_is_single(a, s->files[0])) status = index_read_single(a, s->files[0], &single);
    else status = memprof_add(a, s->files[0], &sum);
    if (!status && !single) status = memprof_check_read(s->name, &sum);
    if (!status && !single && hd_memprof_merger_take(sum.merger, &made, &err))
        status = failed(s->name, &err);
    hd_memprof_merger_free(sum.merger);
    if (status) return status;
    file = single ? hd_dump_memprof(single) : made;
    raw = *hd_memprof_part(file, 0);
    if (!s->is_full) raw.fields &= HD_MEMPROF_HOT_COLD;
    status = index_build(a->naming.opened, s->name, &raw, file, false, &s->built);
    s->layout = HD_MEMPROF_LLVM_3;
    hd_memprof_free(made);
    hd_dump_free(single);
    return status;
}

/* Whether a function has several blocks of the same call stack. */
static bool index_repeats(const hd_memprof_index *x) {
    /* By stack: the number of the last function that has the stack, plus 1. */
    FREED uint32_t *last = needed(calloc((size_t)x->stack_count + 1, sizeof *last));
    bool found = false;
    for (uint32_t f = 0; f < x->function_count && !found; f++)
        for (uint32_t b = x->block_first[f]; b < x->block_first[f + 1]; b++) {
            found |= last[x->block_stack[b]] == f + 1;
            last[x->block_stack[b]] = f + 1;
        }
    return found;
}

/* Adds raw profiles to the indexed ones: the dump `single`, or else the sum in *merger. Together with indexed
   profiles they keep all fields. `file` is the first raw file. */
static int index_add_raw(const arguments *a, index_source *s, memprof_sum *sum, const char *file,
                         hd_memprof_merger **merger, hd_dump *single) {
    bool is_one = sum->raw == 1 && !sum->indexed && !(sum->later_file && sum->older_file);
    hd_memprof_index *built = NULL;
    hd_memprof *made = NULL, *all;
    hd_error err;
    hd_memprof_raw raw;
    int status;
    if (!single && hd_memprof_merger_take(*merger, &made, &err)) return failed("merging", &err);
    hd_memprof_merger_free(*merger);
    *merger = NULL;
    all = single ? hd_dump_memprof(single) : made;
    raw = *hd_memprof_part(all, 0);
    if (!s->is_full && (!sum->indexed || a->memprof.hints || a->memprof.hot_cold_schema))
        raw.fields &= HD_MEMPROF_HOT_COLD;
    status = index_build(a->naming.opened, file, &raw, all, false, &built);
    if (!status && is_one && !index_repeats(built)) s->built = built, built = NULL;
    else if (!status && hd_memprof_builder_add(sum->builder, built, &err))
        status = failed("merging", &err);
    hd_memprof_index_free(built);
    hd_memprof_free(made);
    hd_dump_free(single);
    return status;
}

/* Adds up all files, raw and indexed, to one block per context. The source may already have the first as a dump. */
static int index_add_up(const arguments *a, index_source *s) {
    reading r;
    hd_options options = memprof_options(a, &r, s->name);
    memprof_sum sum = { .merger = needed(hd_memprof_merger_create(&options, NULL)),
                        .older = needed(hd_memprof_merger_create(&options, NULL)),
                        .builder = needed(hd_memprof_builder_create(NULL, &options, NULL)),
                        .is_partial = s->is_partial };
    reading merging = { .doing = "merging" };
    hd_dump *single = NULL;
    hd_error err;
    int status = DONE;
    hd_memprof_merger_keep_order(sum.merger);
    hd_memprof_merger_keep_order(sum.older);
    clock_gettime(CLOCK_MONOTONIC, &merging.began);
    for (int i = 0; i < s->file_count && !status; i++) {
        if (s->file_count > 1) on_progress(&merging, (uint64_t)i, (uint64_t)s->file_count);
        if (!i && s->dump) status = memprof_add_dump(s->files[0], s->dump, &sum);
        else if (s->file_count > 1 || !index_is_single(a, s->files[0])) status = memprof_add(a, s->files[i], &sum);
        else sum.raw++, sum.later_file = s->name, status = index_read_single(a, s->files[0], &single);
    }
    progress_end();
    if (!status) status = memprof_check_read(s->name, &sum);
    if (!status && sum.later_file) status = index_add_raw(a, s, &sum, sum.later_file, &sum.merger, single);
    if (!status && sum.older_file) status = index_add_raw(a, s, &sum, sum.older_file, &sum.older, NULL);
    if (!status && !s->built && hd_memprof_builder_finish(sum.builder, &s->built, &err))
        status = failed("merging", &err);
    if (!status && sum.indexed) memprof_warn_lost(sum.fields, s->built->fields);
    if (!status && sum.functions && !a->memprof.base)
        display(stderr, "heapdump: the counters of %llu function%s are left out%s\n",
                (unsigned long long)sum.functions, plural(sum.functions),
                a->memprof.yaml || yaml_is_asked(a->out.to) ? "" : ": --base FILE keeps the counters of one file");
    s->indexed = sum.indexed;
    s->left_out = sum.left_out;
    s->numbers_lost = sum.numbers;
    memcpy(s->lacking, sum.lacking, sizeof s->lacking);
    if (!status) s->layout = s->built->layout > sum.layout ? s->built->layout : sum.layout;
    hd_memprof_builder_free(sum.builder);
    hd_memprof_merger_free(sum.merger);
    hd_memprof_merger_free(sum.older);
    return status;
}

/* Whether LLVM's bytes are requested, which are defined for one raw file. */
static bool index_is_like(const arguments *a, const index_source *s) {
    return a->memprof.like && s->file_count == 1 && memprof_begins(a, s->files[0], true);
}

index_source index_source_of(const arguments *a, char **files, int count) {
    return (index_source){ .files = files, .file_count = count, .name = memprof_files_name(files, count),
                           .is_full = index_is_full(a) };
}

int index_open(const arguments *a, index_source *s) {
    bool is_like = index_is_like(a, s);
    int status;
    if (!is_like && s->file_count == 1 && !memprof_begins(a, s->files[0], false)) {
        status = read_dump(s->files[0], &a->input, &s->dump);
        if (status) return status;
        s->index = hd_dump_memprof_index(s->dump);
        if (s->index) return s->layout = s->index->layout, DONE;
    }
    status = is_like ? index_open_raw(a, s) : index_add_up(a, s);
    s->index = s->built;
    if (status) index_close(s);
    return status;
}

/* Replaces the index of a source by an index made from it. Counters of functions stay. */
void index_replace(index_source *s, hd_memprof_index *made) {
    if (s->dump && index_counters(s->index)) made->before = s->index->before, made->after = s->index->after;
    s->indexed += !s->built;
    s->numbers_lost += index_unknown(s->index);
    hd_memprof_index_free(s->built);
    s->index = s->built = made;
}

/* Merges the blocks of each context. LLVM's files may have several blocks of one context in a function. */
int index_unite(const arguments *a, index_source *s) {
    reading r;
    hd_options options = memprof_options(a, &r, s->name);
    hd_memprof_builder *to = needed(hd_memprof_builder_create(NULL, &options, NULL));
    hd_memprof_index *united = NULL;
    hd_error err;
    hd_status status = hd_memprof_builder_add(to, s->index, &err);
    if (!status) status = hd_memprof_builder_finish(to, &united, &err);
    hd_memprof_builder_free(to);
    if (status) return failed(s->name, &err);
    index_replace(s, united);
    return DONE;
}

/* Checks whether the options fit an indexed profile, and each other. */
int index_check(const arguments *a) {
    const char *v = a->memprof.version;
    if (a->cut.has_cutoff || a->out.add_to || a->heaps.keep.text || a->heaps.drop.text || a->heaps.root.text ||
        a->view.invert || a->heaps.dump || a->heaps.allocator || a->heaps.has_pid)
        return usage("indexed profiles take no cut-off options, filters, --invert or --add-to");
    if (v && strcmp(v, "rfc") && (*v < '0' || *v > '4' || v[1]))
        return usage("--memprof-version takes 0, 1, 2, 3, 4 or rfc for indexed profiles, not '%s'", v);
    if (a->memprof.like && strcmp(a->memprof.like, "19") && strcmp(a->memprof.like, "22"))
        return usage("--like takes 19 or 22, not '%s'", a->memprof.like);
    if (a->memprof.like && v && !strcmp(v, "rfc"))
        return usage("--like does not go with --memprof-version rfc, which no LLVM release writes");
    if (a->memprof.like && v && (a->memprof.like[0] == '1' ? *v > '3' : *v < '2'))
        return usage("LLVM %s does not write version %s", a->memprof.like, v);
    if (a->memprof.full_schema && a->memprof.hot_cold_schema)
        return usage("--full-schema and --hot-cold-schema do not go together");
    return DONE;
}

int run_index(const arguments *a) {
    index_source s = index_source_of(a, a->input.files, a->input.file_count);
    int status = file_is_named(a);
    if (!status) status = check_terminal(a->out.file, "memprof-index");
    memory_keep();
    if (!status) status = index_check(a);
    s.is_partial = true;
    if (!status) status = index_open(a, &s);
    if (!status && s.left_out) memprof_print_merged(a, s.left_out), fputc('\n', stderr);
    return status ? status : index_finish(a, &s);
}

/* Whether a file begins as an indexed profile does, also as YAML. */
static bool index_begins(const arguments *a, const char *file) {
    uint8_t first[HD_DETECT_FIRST];
    if (a->input.format) return format_is(a->input.format, HD_FORMAT_MEMPROF_INDEX);
    return format_begins(first, input_look(file, true, first), HD_FORMAT_MEMPROF_INDEX);
}

/* Whether merging makes an indexed profile: if a file is one, or --to asks for it. Only the first pipe is looked at,
   because the writer of another pipe may wait until the first is read. */
bool index_is_merged(const arguments *a) {
    bool has_pipe = false;
    if (a->out.to || a->out.add_to) return index_is_asked(a->out.to);
    for (int i = 0; i < a->input.file_count; i++) {
        bool is_pipe = input_is_pipe(a->input.files[i]);
        if (!(is_pipe && has_pipe) && index_begins(a, a->input.files[i])) return true;
        has_pipe |= is_pipe;
    }
    return false;
}

bool index_is_asked(const char *to) {
    return format_is(to, HD_FORMAT_MEMPROF_INDEX) && format_is(to, HD_FORMAT_BINARY);
}

/* Refuses options of indexed profiles for other formats. `takes_version`: memprof-raw takes --memprof-version. */
int index_check_none(const arguments *a, bool takes_version) {
    const char *name = a->memprof.prune             ? "prune"
                       : a->memprof.base            ? "base"
                       : a->memprof.like            ? "like"
                       : a->memprof.full_schema     ? "full-schema"
                       : a->memprof.hot_cold_schema ? "hot-cold-schema"
                                            : NULL;
    if (!name && a->memprof.version && !takes_version) name = "memprof-version";
    return name ? usage("--%s is for indexed profiles: use --to memprof-index", name)
                : DONE;
}

/* Opens all files of a command line as one source. Unreadable files are reported and left out. */
int index_open_merged(const arguments *a, index_source *s) {
    int status;
    *s = index_source_of(a, a->input.files, a->input.file_count);
    s->is_partial = true;
    status = index_is_like(a, s) ? index_open_raw(a, s) : index_add_up(a, s);
    s->index = s->built;
    if (status) index_close(s);
    else memprof_print_merged(a, s->left_out), fputc('\n', stderr);
    return status;
}

int index_merge(const arguments *a) {
    index_source s;
    int status = index_check(a);
    memory_keep();
    if (!status) status = index_open_merged(a, &s);
    return status ? status : index_finish(a, &s);
}
