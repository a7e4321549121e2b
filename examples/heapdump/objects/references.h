/* Why a reference keeps nothing alive. */
#ifndef HEAPDUMP_REFERENCES_H
#define HEAPDUMP_REFERENCES_H

#include "objects.h"

/* Starts with HD_REFERENCE_. In the graph of a V8 snapshot, all edges that DevTools does not follow are weak. */
typedef enum reference_kind {
    STRONG_REFERENCE = HD_REFERENCE_STRONG,
    WEAK_REFERENCE = HD_REFERENCE_WEAK,
    EPHEMERON_KEY = HD_REFERENCE_KEY,
    EPHEMERON_VALUE = HD_REFERENCE_VALUE,
    SHORTCUT,                    /* V8: for example from the value of a bound function */
    TO_PAGE_OBJECT,              /* V8: from the engine to an object of the page, which the page itself also holds */
    REFERENCE_KINDS
} reference_kind;

reference_kind kind_of_reference(const objects *o, uint32_t holder, uint32_t reference);
/* Counts the references of all objects that are not strong, by kind. */
void count_kinds(const objects *o, uint64_t counts[REFERENCE_KINDS]);
/* "weak", "key", "value", "shortcut", "page object", "strong". */
const char *reference_kind_name(reference_kind kind);

#endif
