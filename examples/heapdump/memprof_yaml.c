/* MemProf profiles written as YAML: convert --to memprof-yaml, memprof --yaml. */

#include "commands.h"
#include "formats/formats.h"
#include "memprof.h"

bool yaml_is_asked(const char *to) { return to && !strcmp(to, "memprof-yaml"); }

/* Whether it was read of YAML, where fields that are not told are 0. */
bool yaml_is_source(const index_source *s) {
    return s->dump && !strcmp(hd_dump_format(s->dump)->name, "memprof-yaml");
}

/* Tells what of a file is not in YAML. */
static void yaml_tell_lost(const index_source *s) {
    uint64_t functions = s->built ? 0 : index_counters(s->index); /* of several files it was told */
    if (functions)
        display(stderr, "heapdump: YAML has no counters of functions: those of %llu are left out\n",
                (unsigned long long)functions);
    index_tell_unknown(s->numbers_lost + index_unknown(s->index));
}

/* Raw profiles added up, or one that is an index, as the options ask for it. */
int yaml_show(const arguments *a) {
    index_source s;
    output o;
    hd_error err;
    int status = index_open(a, &s);
    if (status) return status;
    status = output_open_as(&o, a->output, a->default_output);
    if (!status) {
        if (memprof_yaml_write(s.index, NULL, o.out, &err)) {
            display(stderr, "heapdump: %s: %s\n", a->output ? a->output : "standard output", output_error(&o, &err));
            status = BAD_INPUT;
        }
        status = output_close(&o, a->output, status);
    }
    if (!status) yaml_tell_lost(&s);
    index_close(&s);
    return status;
}

int yaml_convert(const arguments *a) {
    int status = index_check(a);
    if (status) return status;
    if (a->prune || a->base) return usage("--%s is of indexed profiles, not of YAML", a->prune ? "prune" : "base");
    return yaml_show(a);
}
