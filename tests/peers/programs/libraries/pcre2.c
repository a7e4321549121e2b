/* Compiles, matches, replaces, converts and serializes expressions. */
#include <string.h>
#define PCRE2_CODE_UNIT_WIDTH 8
#include "pcre2.h"

int main(void) {
    static const char *patterns[] = { "(\\w+)@(\\w+)\\.com", "(?<year>\\d{4})-(?<month>\\d\\d)", "(a(b(c)?)*)+?d", "\\p{Lu}\\p{Ll}+",
                                      "(?i)(?:one|two|three)\\s*(?=four)", "(\\((?:[^()]++|(?1))*\\))", "^(?>a+)b|\\R\\X", "(?|(x)|(y))\\1{2,9}" };
    static char text[40000];
    PCRE2_UCHAR8 out[80000];
    int found = 0, error;
    PCRE2_SIZE where, size = 0;
    while (size < sizeof text - 200) {
        const char *line = "someone@example.com (in (two) brackets) 2026-11-23 abcbcd One four xxx aab\n";
        memcpy(text + size, line, strlen(line)), size += strlen(line);
    }
    for (int round = 0; round < 20; round++)
        for (unsigned i = 0; i < sizeof patterns / sizeof *patterns; i++) {
            pcre2_code *code = pcre2_compile((PCRE2_SPTR)patterns[i], PCRE2_ZERO_TERMINATED, round % 2 ? PCRE2_UTF : 0, &error, &where, NULL);
            pcre2_match_data *data;
            uint8_t *bytes = NULL;
            PCRE2_SIZE length = sizeof out, n;
            if (!code) return 1;
            data = pcre2_match_data_create_from_pattern(code, NULL);
            for (PCRE2_SIZE at = 0; pcre2_match(code, (PCRE2_SPTR)text, size, at, 0, data, NULL) > 0 && found < 100000; found++) {
                PCRE2_UCHAR *copy;
                at = pcre2_get_ovector_pointer(data)[1];
                if (!pcre2_substring_get_bynumber(data, 1, &copy, &n)) pcre2_substring_free(copy);
            }
            pcre2_substitute(code, (PCRE2_SPTR)text, 4000, 0, PCRE2_SUBSTITUTE_GLOBAL | PCRE2_SUBSTITUTE_EXTENDED, NULL, NULL,
                             (PCRE2_SPTR)"<$0>", PCRE2_ZERO_TERMINATED, out, &length);
            if (pcre2_serialize_encode((const pcre2_code **)&code, 1, &bytes, &n, NULL) == 1) pcre2_serialize_free(bytes);
            pcre2_match_data_free(data);
            pcre2_code_free(code);
        }
    return found < 1000;
}
