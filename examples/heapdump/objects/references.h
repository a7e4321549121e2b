/* Why a reference keeps nothing alive. */
#ifndef HEAPDUMP_REFERENCES_H
#define HEAPDUMP_REFERENCES_H

#include "objects.h"

/* HD_REFERENCE_ first. The graph of a V8 snapshot has all that DevTools does not follow as weak references. */
typedef enum reference_kind {
    STRONG_REFERENCE = HD_REFERENCE_STRONG,
    WEAK_REFERENCE = HD_REFERENCE_WEAK,
    EPHEMERON_KEY = HD_REFERENCE_KEY,
    EPHEMERON_VALUE = HD_REFERENCE_VALUE,
    SHORTCUT,                    /* of V8: from the value of a bound function or the like */
    TO_PAGE_OBJECT,              /* of V8: the engine leads to an object of the page, which the page itself holds */
    REFERENCE_KINDS
} reference_kind;

reference_kind kind_of_reference(const objects *o, uint32_t holder, uint32_t reference);
/* Adds up the references of all objects that have some that are not strong, by kind. */
void count_kinds(const objects *o, uint64_t counts[REFERENCE_KINDS]);
/* "weak", "key", "value", "shortcut", "page object", "strong". */
const char *reference_kind_name(reference_kind kind);

#endif
