/* Indexed memprof profiles for tests and benchmarks. Include after heapdump.h and memprof.h.

   ix_ functions fill the columns of an hd_memprof_index: one function after another, each with its blocks. ix_random
   makes a random profile, ix_program the profile of a larger program. */
#ifndef INDEXES_H
#define INDEXES_H

typedef struct ix_model {
    hd_memprof_index index;
    hd_memprof_location *locations;
    uint32_t *first, *location, *block_first, *site_first, *block_stack;
    uint64_t *function, *value;
    char *text;                  /* names and files of ix_program and ix_random */
} ix_model;

/* Makes room for one more element after n. */
HD_UNUSED static void *ix_room(void *column, size_t n, size_t size) {
    if (n & (n - 1)) return column;
    column = realloc(column, (n ? 2 * n : 1) * size);
    if (!column) abort();
    return column;
}
#define IX_PUSH(type, column, n, ...) \
    ((column) = (type *)ix_room((column), (n), sizeof(type)), (column)[n] = __VA_ARGS__)

HD_UNUSED static void ix_open(ix_model *m, hd_memprof_layout layout, uint32_t fields) {
    memset(m, 0, sizeof *m);
    m->index.layout = layout;
    m->index.fields = fields;
    for (uint32_t f = 1; f < HD_MEMPROF_FIELDS; f++)
        if (fields >> f & 1) m->index.field[m->index.field_count++] = (uint8_t)f;
    IX_PUSH(uint32_t, m->first, 0, 0);
    IX_PUSH(uint32_t, m->block_first, 0, 0);
    IX_PUSH(uint32_t, m->site_first, 0, 0);
}

HD_UNUSED static void ix_close(ix_model *m) {
    free(m->locations);
    free(m->first);
    free(m->location);
    free(m->block_first);
    free(m->site_first);
    free(m->block_stack);
    free(m->function);
    free(m->value);
    free(m->text);
}

HD_UNUSED static const hd_memprof_index *ix_show(ix_model *m) {
    m->index.locations = m->locations;
    m->index.first = m->first;
    m->index.location = m->location;
    m->index.function = m->function;
    m->index.block_first = m->block_first;
    m->index.site_first = m->site_first;
    m->index.block_stack = m->block_stack;
    m->index.value = m->value;
    return &m->index;
}

HD_UNUSED static uint32_t ix_location(ix_model *m, uint64_t function, const char *name, const char *file, uint32_t line,
                                      uint32_t discriminator, uint32_t line_offset, uint32_t column, bool inlined) {
    hd_memprof_location l;
    memset(&l, 0, sizeof l);
    l.function = function;
    l.name = hd_cstr(name);
    l.file = hd_cstr(file);
    l.line = line;
    l.discriminator = discriminator;
    l.line_offset = line_offset;
    l.column = column;
    l.inlined = inlined;
    IX_PUSH(hd_memprof_location, m->locations, m->index.location_count, l);
    return m->index.location_count++;
}

HD_UNUSED static uint32_t ix_stack(ix_model *m, uint32_t n, const uint32_t *locations) {
    uint32_t at = m->first[m->index.stack_count];
    for (uint32_t i = 0; i < n; i++) IX_PUSH(uint32_t, m->location, at + i, locations[i]);
    IX_PUSH(uint32_t, m->first, m->index.stack_count + 1, at + n);
    return m->index.stack_count++;
}

HD_UNUSED static void ix_function(ix_model *m, uint64_t guid) {
    IX_PUSH(uint64_t, m->function, m->index.function_count, guid);
    m->index.function_count++;
    IX_PUSH(uint32_t, m->block_first, m->index.function_count, m->index.block_count);
    IX_PUSH(uint32_t, m->site_first, m->index.function_count, 0);
}

/* Adds a block to the last function; `values` are in the order of the schema. */
HD_UNUSED static void ix_block(ix_model *m, uint32_t stack, const uint64_t *values) {
    uint32_t n = m->index.field_count;
    IX_PUSH(uint32_t, m->block_stack, m->index.block_count, stack);
    for (uint32_t f = 0; f < n; f++) IX_PUSH(uint64_t, m->value, m->index.block_count * n + f, values[f]);
    m->block_first[m->index.function_count] = ++m->index.block_count;
}

/* Up to 6 functions in order of their GUIDs, 12 locations, 10 stacks, and 4 blocks per function. As in the RFC,
   blocks belong to the function that allocates. Some numbers are at their limits. */
HD_UNUSED static void ix_random(ix_model *m, uint64_t *seed, uint32_t fields) {
    static const char *const files[] = { "", "a.c", "/usr/include/a.h", "/usr/include/b.h", "./x//y/", "/", "src/a.c", "src" };
    static const char *const names[] = { "", "main", "_Z3newv", "a.c" };
    uint32_t functions = mp_below(seed, 7), locations = 1 + mp_below(seed, 12);
    ix_open(m, HD_MEMPROF_RFC, fields);
    for (uint32_t i = 0; i < locations; i++)
        ix_location(m, 100 + 10 * mp_below(seed, 6), names[mp_below(seed, 4)], files[mp_below(seed, 8)],
                    (uint32_t)(mp_next(seed) >> (32 + mp_below(seed, 33) % 32)),
                    mp_below(seed, 3) ? 0 : (uint32_t)(mp_next(seed) >> (32 + mp_below(seed, 32))),
                    mp_below(seed, 9) ? mp_below(seed, 300) : UINT32_MAX, mp_below(seed, 80), mp_below(seed, 2));
    for (uint32_t f = 0; f < functions; f++) {
        uint64_t guid = 100 + 10 * f;
        ix_function(m, guid);
        for (uint32_t b = mp_below(seed, 5); b; b--) {
            uint64_t values[HD_MEMPROF_FIELDS];
            uint32_t stack[6], n = 0, want = 1 + mp_below(seed, 5);
            for (uint32_t l = 0; l < locations && !n; l++)
                if (m->locations[l].function == guid) stack[n++] = l;
            while (n && n < want) stack[n++] = mp_below(seed, locations);
            for (uint32_t k = 0; k < m->index.field_count; k++)
                values[k] = mp_below(seed, 4) ? mp_next(seed) >> mp_below(seed, 64) : 0;
            if (n) ix_block(m, ix_stack(m, n, stack), values);
        }
    }
}

#endif
