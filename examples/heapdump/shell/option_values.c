/* Parsing of option values. */

#include "options.h"

static void *place(const option_row *o, arguments *a) { return (char *)a + o->at; }

bool take_flag(const option_row *o, arguments *a, const char *text) {
    (void)text;
    *(bool *)place(o, a) = true;
    return true;
}

bool take_text(const option_row *o, arguments *a, const char *text) {
    *(const char **)place(o, a) = text;
    return true;
}

/* Times given by several options add up to one list. */
bool take_times(const option_row *o, arguments *a, const char *text) {
    char *list = place(o, a);
    size_t n = strlen(list), most = sizeof a->record.at;
    return *text && snprintf(list + n, most - n, "%s%s", n ? "," : "", text) < (int)(most - n);
}

/* Counters come from one file, so --base is given once. */
bool take_base(const option_row *o, arguments *a, const char *text) {
    return !a->memprof.base && take_text(o, a, text);
}

bool parse_bytes(const char *s, uint64_t *n) {
    char *end;
    int shift = 0;
    errno = 0;
    *n = strtoull(s, &end, 10);
    if (*s < '0' || *s > '9' || errno) return false;
    switch (*end) {
    case 'k': case 'K': shift = 10; break;
    case 'M': shift = 20; break;
    case 'G': shift = 30; break;
    }
    if (shift) end++;
    if (*n > UINT64_MAX >> shift) return false;
    *n <<= shift;
    return !*end;
}

bool parse_number(const char *s, char **end, double *n) {
    size_t first = s[0] == '.';
    if (s[first] < '0' || s[first] > '9' || s[1] == 'x' || s[1] == 'X') return false;
    *n = strtod(s, end);
    return true;
}

bool take_bytes(const option_row *o, arguments *a, const char *text) {
    return parse_bytes(text, place(o, a));
}

bool take_some_bytes(const option_row *o, arguments *a, const char *text) {
    uint64_t *n = place(o, a);
    return parse_bytes(text, n) && *n;
}

bool take_count(const option_row *o, arguments *a, const char *text) {
    uint64_t n;
    if (!parse_bytes(text, &n) || !n || n > UINT32_MAX) return false;
    *(uint32_t *)place(o, a) = (uint32_t)n;
    return true;
}

bool take_depth(const option_row *o, arguments *a, const char *text) {
    return take_count(o, a, text) && a->record.depth <= HD_MAX_FRAMES;
}

/* Whether the rest of a value is "%" or " %". */
static bool is_percent(const char *end) { return !strcmp(end + strspn(end, " "), "%"); }

bool take_share(const option_row *o, arguments *a, const char *text) {
    double *share = place(o, a);
    char *end;
    if (!parse_number(text, &end, share)) return false;
    if (is_percent(end)) *share /= 100;
    else if (*end) return false;
    return *share <= 1;
}

bool take_percent(const option_row *o, arguments *a, const char *text) {
    double *share = place(o, a);
    char *end;
    if (!parse_number(text, &end, share) || (*end && !is_percent(end))) return false;
    if (!*end && *share > 0 && *share < 1) /* probably meant as a share */
        display(stderr, "heapdump: --%s %s means %s %%; for %.6g %% write %.6g%%\n", o->name, text, text,
                100 * *share, 100 * *share);
    *share /= 100;
    return *share < 1e9;
}

/* REGEX=BYTES. The expression may contain '='. */
bool take_site(const option_row *o, arguments *a, const char *text) {
    const char *bytes = strrchr(text, '=');
    site_limit *s;
    (void)o;
    ONE_MORE(a->check.sites, a->check.site_count);
    s = &a->check.sites[a->check.site_count++];
    if (!bytes || bytes == text || !parse_bytes(bytes + 1, &s->bytes)) return false;
    s->text = needed(strndup(text, (size_t)(bytes - text)));
    return pattern_set(&s->site, s->text);
}

bool take_limit(const option_row *o, arguments *a, const char *text) {
    double *limit = place(o, a);
    char *end;
    return parse_number(text, &end, limit) && !*end && *limit < 1e30;
}

bool take_seconds(const option_row *o, arguments *a, const char *text) {
    return take_limit(o, a, text) && *(double *)place(o, a) > 0 && *(double *)place(o, a) < 1e9;
}

/* "length<N" and the like, "detached", or FIELD=REGEX. */
bool take_where(const option_row *o, arguments *a, const char *text) {
    static const char *const numbers[] = { [OF_LENGTH] = "length", [OF_SIZE] = "size", [OF_RETAINED] = "retained" };
    size_t n = strcspn(text, "<>=");
    condition *c;
    (void)o;
    ONE_MORE(a->objects.where, a->objects.where_count);
    c = &a->objects.where[a->objects.where_count++];
    *c = (condition){ .of = OF_FIELD, .field = text, .field_length = n, .compare = text[n] };
    if (!strcmp(text, "detached")) return c->of = OF_DETACHED, true;
    if (!n || !text[n]) return false;
    text += n + 1;
    for (int of = OF_LENGTH; of <= OF_RETAINED; of++)
        if (hd_str_equal(hd_cstr(numbers[of]), (hd_str){ c->field, n })) c->of = of;
    if (c->of == OF_FIELD) return c->compare == '=' && pattern_set(&c->value, text);
    if (*text == '=' && c->compare != '=') c->compare = c->compare == '<' ? '(' : ')', text++;
    return parse_bytes(text, &c->bound);
}

bool take_csv(const option_row *o, arguments *a, const char *text) {
    return a->view.json = take_flag(o, a, text);
}

bool take_pattern(const option_row *o, arguments *a, const char *text) {
    return pattern_set(place(o, a), text);
}

bool take_pid(const option_row *o, arguments *a, const char *text) {
    return a->heaps.has_pid = take_bytes(o, a, text);
}

bool take_frames(const option_row *o, arguments *a, const char *text) {
    a->view.frames_hidden = !strcmp(text, "hidden");
    *(bool *)place(o, a) = !strcmp(text, "all");
    return a->view.frames_hidden || a->view.frames_all;
}

/* Words in the order of hd_order. */
bool take_order(const option_row *o, arguments *a, const char *text) {
    static const char *const words[] = { "bytes", "blocks", "self", "name" };
    (void)o;
    a->cut.ordered = true;
    for (int i = HD_ORDER_BYTES; i <= HD_ORDER_NAME; i++)
        if (!strcmp(words[i], text)) return a->cut.order = (hd_order)i, true;
    return false;
}

bool take_kind(const option_row *o, arguments *a, const char *text) {
    take_text(o, a, text);
    for (int kind = HD_HEAP_LIVE; kind <= HD_HEAP_TEMPORARY; kind++)
        if (!strcmp(text, hd_heap_kind_name((hd_heap_kind)kind))) return true;
    return false;
}

bool take_match(const option_row *o, arguments *a, const char *text) {
    return *(bool *)place(o, a) = !strcmp(text, "process");
}

bool take_soft(const option_row *o, arguments *a, const char *text) {
    bool weak = *(bool *)place(o, a) = !strcmp(text, "weak");
    return weak || !strcmp(text, "strong");
}

/* Words in the order of HD_LAYOUT_. */
bool take_layout(const option_row *o, arguments *a, const char *text) {
    static const char *const words[] = { "found", "compressed", "wide", "file" };
    for (uint32_t i = HD_LAYOUT_COMPRESSED; i <= HD_LAYOUT_FILE; i++)
        if (!strcmp(words[i], text)) return *(uint32_t *)place(o, a) = i, true;
    return false;
}

bool take_children(const option_row *o, arguments *a, const char *text) {
    static const char *const unlikely[] = { "none", "off", "false", "never", "0", "yes", "on", "true", "1" };
    (void)o;
    for (size_t i = 0; i < sizeof unlikely / sizeof *unlikely; i++)
        if (!strcmp(text, unlikely[i])) return false;
    a->record.no_children = !strcmp(text, "no");
    a->record.children.text = NULL;
    return a->record.no_children || !strcmp(text, "all") || pattern_set(&a->record.children, text);
}

bool take_metric(const option_row *o, arguments *a, const char *text) {
    (void)o;
    return memprof_take_metric(a, text);
}

bool take_prune(const option_row *o, arguments *a, const char *text) {
    (void)o;
    return prune_parse(a, text);
}

bool take_binary(const option_row *o, arguments *a, const char *text) {
    (void)o;
    ONE_MORE(a->naming.binaries, a->naming.binary_count);
    a->naming.binaries[a->naming.binary_count++] = text;
    return true;
}

/* NAME=VALUE. The value may contain '='. */
bool take_label(const option_row *o, arguments *a, const char *text) {
    const char *value = strchr(text, '=');
    hd_label *l;
    (void)o;
    if (!value || value == text) return false;
    ONE_MORE(a->input.labels, a->input.label_count);
    l = &a->input.labels[a->input.label_count];
    *l = (hd_label){ needed(strndup(text, (size_t)(value - text))), value + 1 };
    for (int i = 0; i < a->input.label_count; i++)
        if (!strcmp(a->input.labels[i].name, l->name)) return false;
    a->input.label_count++;
    return true;
}

bool take_format(const option_row *o, arguments *a, const char *text) {
    (void)o;
    a->input.format_help = !strcmp(text, "help");
    a->input.format = text;
    return a->input.format_help || format_is_read(text);
}

bool take_record_format(const option_row *o, arguments *a, const char *text) {
    (void)o;
    a->record.format = format_is(text, FORMAT_RAW | FORMAT_RFC) ? text : NULL;
    return a->record.format || format_is(text, HD_FORMAT_TRACE);
}
