/* MemProf profiles written as YAML: convert and merge --to memprof-yaml, memprof --yaml. */

#include "memprof.h"

bool yaml_is_asked(const char *to) {
    return format_is(to, HD_FORMAT_MEMPROF_INDEX) && !format_is(to, HD_FORMAT_BINARY);
}

/* Whether the source is YAML, where absent fields are 0. */
bool yaml_is_source(const index_source *s) {
    return s->dump && hd_dump_format(s->dump)->is & FORMAT_OMITS_ZEROS;
}

/* Reports parts of a source that YAML cannot hold. */
static void yaml_warn_lost(const index_source *s) {
    uint64_t functions = s->built ? 0 : index_counters(s->index); /* for several files, index_add_up reported it */
    if (functions)
        display(stderr, "heapdump: YAML cannot hold function counters; left out: counters of %llu function%s\n",
                (unsigned long long)functions, plural(functions));
    index_warn_unknown(s->numbers_lost + index_unknown(s->index));
}

/* Writes the YAML, and reports losses. */
static int yaml_finish(const arguments *a, index_source *s) {
    output o;
    hd_error err;
    int status = output_open_as(&o, a->out.file, a->out.is_default);
    if (!status)
        status = output_end(&o, a->out.file, output_name(a->out.file),
                            memprof_yaml_write(s->index, NULL, o.out, &err), &err);
    if (!status) yaml_warn_lost(s);
    index_close(s);
    return status || !s->left_out ? status : BAD_INPUT;
}

/* Writes the sum of raw profiles, or one indexed profile, as YAML. */
int yaml_show(const arguments *a) {
    index_source s = index_source_of(a, a->input.files, a->input.file_count);
    int status = index_open(a, &s);
    return status ? status : yaml_finish(a, &s);
}

static int yaml_check(const arguments *a) {
    int status = index_check(a);
    if (status || (!a->memprof.prune && !a->memprof.base)) return status;
    return usage("--%s is for indexed profiles, not for YAML", a->memprof.prune ? "prune" : "base");
}

int yaml_convert(const arguments *a) {
    int status = yaml_check(a);
    return status ? status : yaml_show(a);
}

int yaml_merge(const arguments *a) {
    index_source s;
    int status = yaml_check(a);
    if (!status) status = index_open_merged(a, &s);
    return status ? status : yaml_finish(a, &s);
}
