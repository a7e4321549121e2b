/* Names with their scope: "String  (dart.core)". */

#include "screen.h"

/* A class that is known by name: "String  (dart.core)". */
void put_scoped(FILE *out, hd_str name, hd_str scope) {
    put_name(out, name);
    if (scope.len) display(out, "  ("), put_name(out, scope), fputc(')', out);
}

int put_scoped_within(FILE *out, const screen *s, hd_str class_name, hd_str scope, int room) {
    enum { LEAST = 12 };
    FREED char *name = NULL;
    int used;
    if (!s->columns) return put_scoped(out, class_name, scope), 0;
    name = cut_within(class_name, room > LEAST ? room : LEAST);
    display(out, "%s", name);
    used = columns_of(hd_cstr(name));
    if (!scope.len || used + 4 + columns_of(scope) > room) return used;
    put_style(out, s, FAINT);
    display(out, "  ("), put_name(out, scope), display(out, ")");
    put_style(out, s, PLAIN);
    return used + 4 + columns_of(scope);
}

int room_beside(int room, int other) { return room - other > room / 2 ? room - other : room / 2; }
