/* Regular expressions for names: REGEX for frames, type=REGEX for types. */

#include "shell.h"

char pattern_error[96];

bool pattern_set(pattern *p, const char *text) {
    int error;
    p->axis = strncmp(text, "type=", 5) ? HD_AXIS_BACKTRACE : HD_AXIS_TYPE;
    p->text = text + (p->axis == HD_AXIS_TYPE ? 5 : 0);
    error = regcomp(&p->regex, p->text, REG_EXTENDED | REG_NOSUB);
    if (error) regerror(error, NULL, pattern_error, sizeof pattern_error);
    return !error;
}

bool pattern_matches(void *user, hd_str name) {
    const pattern *p = user;
    regmatch_t range = { 0, (regoff_t)name.len };
    return !regexec(&p->regex, name.len ? name.data : "", 1, &range, REG_STARTEND);
}
