/* Pairs source paths of two builds in different directories: paths that are equal behind differing prefixes.

   Each round takes the pair of prefixes with the most paths, then the next round works on the remaining paths. Paths
   with only a base name in common are two files if they are in a directory that has not moved. */

#include "pairing_frames.h"

enum { PREFIXES = 8, CANDIDATES = 16, TIED = 64, BELOW = 2 };

/* A path in only one of two files. */
typedef struct lone_path {
    hd_str name;
    uint32_t number;
    uint32_t object;             /* of its functions; 0: unknown, HD_NONE: several */
} lone_path;

/* A directory in both files. The nearest shared source file is `below` directories inside it. */
typedef struct shared_directory {
    hd_str name;                 /* with its last separator */
    uint32_t below;
} shared_directory;

typedef struct shared_directories {
    shared_directory *list;
    size_t count;
} shared_directories;

/* A path of one file and a path of the other that end in the same components. */
typedef struct vote {
    hd_str from, to;             /* the prefixes, with their last separator */
    uint32_t path, mate;         /* numbers of the paths */
} vote;

typedef struct votes {
    vote *list;
    size_t count;
} votes;

/* Compares paths from the end, separators first: paths that end in the same components become neighbours. */
static int rank(hd_str s, size_t back) {
    if (back >= s.len) return 0;
    return is_separator(s.data[s.len - 1 - back]) ? 1 : 2 + (unsigned char)s.data[s.len - 1 - back];
}

static int compare_ends(hd_str x, hd_str y) {
    size_t i = 0;
    while (i < x.len && i < y.len && rank(x, i) == rank(y, i)) i++;
    return rank(x, i) - rank(y, i);
}

static int by_end(const void *a, const void *b) {
    return compare_ends(((const lone_path *)a)->name, ((const lone_path *)b)->name);
}

/* Bytes of the components that both paths end in. */
static size_t common_end(hd_str x, hd_str y) {
    size_t whole = 0;
    for (size_t i = 0; i <= x.len && i <= y.len; i++) {
        bool ends = rank(x, i) < 2 && rank(y, i) < 2;
        if (ends) whole = i;
        if (i == x.len || i == y.len || rank(x, i) != rank(y, i)) break;
    }
    return whole;
}

static int compare_prefixes(const vote *x, const vote *y) {
    int order = hd_str_compare(x->from, y->from);
    return order ? order : hd_str_compare(x->to, y->to);
}

static int by_prefixes(const void *a, const void *b) {
    const vote *x = a, *y = b;
    int order = compare_prefixes(x, y);
    return order ? order : compare_numbers(x->path, y->path);
}

static bool begins_with(hd_str path, hd_str prefix) {
    if (!prefix.len) return !path.len || !is_separator(path.data[0]);
    return path.len >= prefix.len && !memcmp(path.data, prefix.data, prefix.len);
}

static hd_str before_end(hd_str path, size_t end) { return (hd_str){ path.data, path.len - end }; }

static int same_directory(const void *a, const void *b) {
    return hd_str_compare(((const shared_directory *)a)->name, ((const shared_directory *)b)->name);
}

static int by_directory(const void *a, const void *b) {
    const shared_directory *x = a, *y = b;
    int order = same_directory(a, b);
    return order ? order : compare_numbers(x->below, y->below);
}

/* The directories of source files that both files have, each once. */
static shared_directories shared_of(const hd_str *names, uint32_t count, const bool *here, const bool *known) {
    shared_directories s = { needed(malloc(((size_t)count + 1) * (BELOW + 1) * sizeof *s.list)), 0 };
    size_t n = 0;
    for (uint32_t i = 1; i < count; i++) {
        size_t at = names[i].len;
        if (!here[i] || !known[i]) continue;
        for (uint32_t below = 0; below <= BELOW && at; below++) {
            if (below) at--;
            while (at && !is_separator(names[i].data[at - 1])) at--;
            if (at) s.list[n++] = (shared_directory){ { names[i].data, at }, below };
        }
    }
    qsort(s.list, n, sizeof *s.list, by_directory);
    for (size_t i = 0; i < n; i++)
        if (!s.count || !hd_str_equal(s.list[s.count - 1].name, s.list[i].name)) s.list[s.count++] = s.list[i];
    return s;
}

/* Whether both prefixes are inside a directory that has not moved: it has a shared file at most as deep as theirs. */
static bool is_inside_shared(const shared_directories *s, hd_str from, hd_str to) {
    size_t same = 0, end = 0;
    uint32_t depth[2] = { 0, 0 };
    shared_directory key, *found;
    while (same < from.len && same < to.len && from.data[same] == to.data[same])
        if (is_separator(from.data[same++])) end = same;
    for (size_t i = end; i < from.len; i++) depth[0] += is_separator(from.data[i]);
    for (size_t i = end; i < to.len; i++) depth[1] += is_separator(to.data[i]);
    if (!end) return false;
    key = (shared_directory){ { from.data, end }, 0 };
    found = bsearch(&key, s->list, s->count, sizeof key, same_directory);
    return found && found->below <= depth[0] && found->below <= depth[1];
}

static bool is_one_object(uint32_t x, uint32_t y) { return x == y || !x || !y || x == HD_NONE || y == HD_NONE; }

/* Adds a vote for two paths, unless they are known to be different files. */
static void add_vote(votes *v, const shared_directories *shared, const lone_path *path, const lone_path *other,
                     size_t end) {
    hd_str from = before_end(path->name, end), to = before_end(other->name, end);
    bool base_only = true;
    for (size_t i = from.len; i < path->name.len && base_only; i++) base_only = !is_separator(path->name.data[i]);
    if (!is_one_object(path->object, other->object) || (base_only && is_inside_shared(shared, from, to))) return;
    v->list[v->count++] = (vote){ from, to, path->number, other->number };
}

/* Adds the votes of a path, for the paths of `others` (sorted) with the most components at the end in common. */
static void add_votes(votes *v, const shared_directories *shared, const lone_path *path, const lone_path *others,
                      size_t n) {
    size_t from = items_before(path, others, n, sizeof *others, by_end), to, most = 0, end;
    if (from) most = common_end(path->name, others[from - 1].name);
    if (from < n && (end = common_end(path->name, others[from].name)) > most) most = end;
    if (!most) return;
    for (to = from; from && from + CANDIDATES / 2 > to && common_end(path->name, others[from - 1].name) >= most;)
        from--;
    for (; from < n && from < to + CANDIDATES / 2 && common_end(path->name, others[from].name) >= most; from++)
        add_vote(v, shared, path, &others[from], most);
}

/* The pair of prefixes with the most votes, which begin at *first. Returns their number; 0: no votes, or a tie
   between pairs that share a prefix. */
static size_t elect(const votes *v, size_t *first) {
    size_t tied[TIED], count = 0, most = 0;
    for (size_t i = 0, end; i < v->count; i = end) {
        for (end = i + 1; end < v->count && !compare_prefixes(&v->list[i], &v->list[end]);) end++;
        if (end - i > most) most = end - i, count = 0;
        if (end - i == most && count < TIED) tied[count++] = i;
    }
    for (size_t i = 0; i < count; i++) {
        bool unique = true;
        for (size_t k = 0; k < count && unique; k++)
            unique = k == i || (!hd_str_equal(v->list[tied[i]].from, v->list[tied[k]].from) &&
                                !hd_str_equal(v->list[tied[i]].to, v->list[tied[k]].to));
        *first = tied[i];
        if (unique) return most;
    }
    return 0;
}

/* Removes paths below the prefix: these directories are paired. */
static size_t without_prefix(lone_path *list, size_t n, hd_str prefix) {
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if (!begins_with(list[i].name, prefix)) list[kept++] = list[i];
    return kept;
}

static lone_path *lone_paths(const hd_str *names, uint32_t count, const bool *in, const bool *out,
                             const uint32_t *object, size_t *n) {
    lone_path *list = needed(malloc(((size_t)count + 1) * sizeof *list));
    *n = 0;
    for (uint32_t i = 1; i < count; i++)
        if (in[i] && !out[i] && names[i].len) list[(*n)++] = (lone_path){ names[i], i, object[i] };
    qsort(list, *n, sizeof *list, by_end);
    return list;
}

bool pair_paths(const hd_str *names, uint32_t count, const bool *here, const bool *known, const uint32_t *object,
                uint32_t main, uint32_t *to) {
    size_t mine, others, paired = 0, all;
    bool main_pairs = false;
    lone_path *own = lone_paths(names, count, here, known, object, &mine);
    lone_path *other = lone_paths(names, count, known, here, object, &others);
    shared_directories shared = shared_of(names, count, here, known);
    votes v = { needed(malloc((mine * CANDIDATES + 1) * sizeof *v.list)), 0 };
    all = mine;
    for (int round = 0; round < PREFIXES && mine && others; round++) {
        size_t first = 0, n;
        v.count = 0;
        for (size_t i = 0; i < mine; i++) add_votes(&v, &shared, &own[i], other, others);
        qsort(v.list, v.count, sizeof *v.list, by_prefixes);
        n = elect(&v, &first);
        if (!n) break;
        for (size_t i = first; i < first + n; i++) {
            to[v.list[i].path] = v.list[i].mate;
            main_pairs |= n > 1 && v.list[i].path == main;
        }
        paired += n;
        mine = without_prefix(own, mine, v.list[first].from);
        others = without_prefix(other, others, v.list[first].to);
    }
    free(own), free(other), free(v.list), free(shared.list);
    return main_pairs && 2 * paired >= all;
}
