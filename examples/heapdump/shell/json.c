/* Members of JSON objects. */

#include "shell.h"

void json_text(hd_json *j, const char *key, const char *value) {
    hd_json_key(j, key);
    if (value) hd_json_cstr(j, value);
    else hd_json_null(j);
}

void json_str(hd_json *j, const char *key, hd_str value) { hd_json_key(j, key), hd_json_str(j, value); }
void json_u64(hd_json *j, const char *key, uint64_t value) { hd_json_key(j, key), hd_json_u64(j, value); }
void json_bool(hd_json *j, const char *key, bool value) { hd_json_key(j, key), hd_json_bool(j, value); }
void json_array(hd_json *j, const char *key) { hd_json_key(j, key), hd_json_array(j); }
void json_object(hd_json *j, const char *key) { hd_json_key(j, key), hd_json_object(j); }
void json_line(hd_json *j) { hd_json_newline(j), hd_json_object(j); }

void json_known(hd_json *j, const char *key, uint64_t value) {
    hd_json_key(j, key);
    if (value == HD_UNKNOWN) hd_json_null(j);
    else hd_json_u64(j, value);
}

void json_label(hd_json *j, const hd_heap *heap) {
    json_u64(j, "pid", heap->pid);
    json_text(j, "process", heap->process);
    json_text(j, "dump", heap->dump);
    json_u64(j, "time_us", heap->time_us);
    json_text(j, "allocator", heap->allocator);
    json_text(j, "kind", hd_heap_kind_name(heap->kind));
    json_u64(j, "sample_bytes", heap->sample_bytes);
    if (!heap->label_count) return;
    json_object(j, "labels");
    for (size_t i = 0; i < heap->label_count; i++) json_text(j, heap->labels[i].name, heap->labels[i].value);
    hd_json_end(j);
}
