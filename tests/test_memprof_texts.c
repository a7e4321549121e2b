/* Texts about memprof profiles cannot be read; the error names the remedy. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "../heapdump.h"

static void is_told(const char *text, hd_status status, const char *what) {
    size_t size = strlen(text);
    char *copy = (char *)malloc(size); /* so that sanitizers find a read past the end */
    hd_dump *dump = NULL;
    hd_error err = { 0 };
    assert_non_null(copy);
    memcpy(copy, text, size);
    if (hd_read_memory(copy, size, NULL, &dump, &err) != status || !strstr(err.message, what))
        fail_msg("of '%.40s': %s", text, err.message);
    assert_null(dump);
    free(copy);
}

static void a_report_of_the_runtime_is_answered_with_its_option(void **state) {
    (void)state;
    const char *const option = "MEMPROF_OPTIONS=print_text=0";
    is_told("Recorded MIBs (incl. live on exit):\nMemory allocation stack id = 1\n\talloc_count 19, size", HD_UNSUPPORTED,
            option);
    is_told("Memory allocation stack id = 1\n\talloc_count 19", HD_UNSUPPORTED, option);
    is_told("MIB:1/19/100.00/10/190/0.00/0/0/8.68/0/26/0/9/18/18\nStack for id 1:\n", HD_UNSUPPORTED, option);
}

static void yaml_that_llvm_merges_is_answered_with_merging_it(void **state) {
    (void)state;
    const char *const merge = "llvm-profdata merge --memprof-version=3";
    is_told("---\nHeapProfileRecords:\n  - GUID:            _Z6bufferm\n", HD_UNSUPPORTED, merge);
    is_told("---\r\nHeapProfileRecords:\r\n", HD_UNSUPPORTED, merge);
    is_told("---\nDataAccessProfiles:\n  SampledRecords:\n", HD_UNSUPPORTED, merge);
}

/* The output of `heapdump memprof` is one of these texts. */
static void a_listing_is_answered_with_its_source(void **state) {
    (void)state;
    const char *const profile = "use the profile itself";
    is_told("---\n# MemProfSummary:\n#   Total contexts: 21\n#   Total cold contexts: 2\n", HD_UNSUPPORTED, profile);
    is_told("MemprofProfile:\n  Summary:\n    Version: 4\n", HD_UNSUPPORTED, profile);
    is_told("---\nMemprofProfile:\n", HD_UNSUPPORTED, profile);
}

static void other_texts_are_not_recognized(void **state) {
    (void)state;
    static const char *const texts[] = { "---", "---\n", "---\r", "---\nHeapProfileRecord", "MIB", "-", "Recorded MIB",
                                         "---\n---\nHeapProfileRecords:", "\nMIB:1/", "--- MIB:1/" };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        is_told(texts[i], HD_UNKNOWN_FORMAT, "unknown heap dump format");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_report_of_the_runtime_is_answered_with_its_option),
        cmocka_unit_test(yaml_that_llvm_merges_is_answered_with_merging_it),
        cmocka_unit_test(a_listing_is_answered_with_its_source),
        cmocka_unit_test(other_texts_are_not_recognized),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
