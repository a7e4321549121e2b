/* The answer of a command, as text or JSON. */

#include "screen.h"

/* Makes a FILE that writes to an output. */
static ssize_t output_put(void *o, const char *data, size_t size) {
    hd_out *out = o;
    return out->write(out->user, data, size) ? -1 : (ssize_t)size;
}

/* Writes the first members of every JSON answer. "files" is left out if it is the list itself. */
static void envelope(hd_json *j, const arguments *a, const char *list) {
    hd_json_object(j);
    json_text(j, "heapdump", hd_version());
    json_text(j, "command", command_name);
    if (list && !strcmp(list, "files")) return;
    json_array(j, "files");
    for (int i = 0; i < a->input.file_count; i++) {
        hd_json_object(j);
        json_text(j, "file", a->input.files[i]);
        hd_json_end(j);
    }
    hd_json_end(j);
}

int answer_open(answer *r, const arguments *a, const char *list) {
    int status = output_open(&r->output, a->out.file);
    if (status) return status;
    screen s = screen_of(a);
    r->a = a;
    r->pager = pager_open(&s);
    if (r->pager) r->output.out = hd_out_file(r->pager);
    r->text = fopencookie(&r->output.out, "w", (cookie_io_functions_t){ .write = output_put });
    if (!r->text) {
        display(stderr, "heapdump: %s\n", strerror(errno));
        exit(BAD_INPUT);
    }
    r->open = !a->view.json ? 0 : list ? 2 : 1;
    r->rows_text = NULL;
    r->rows = a->view.csv ? needed(open_memstream(&r->rows_text, &r->rows_size)) : NULL;
    hd_json_begin(&r->json, r->rows ? hd_out_file(r->rows) : r->output.out);
    if (r->open) envelope(&r->json, a, list);
    if (r->open == 2) json_array(&r->json, list);
    return DONE;
}

void answer_end_list(answer *r) {
    hd_json_end(&r->json);
    r->open = 1;
}

int answer_close(answer *r, int status) {
    bool failed = false;
    if (r->a->view.json) {
        for (; r->open; r->open--) hd_json_end(&r->json);
        hd_json_newline(&r->json);
        failed = hd_json_finish(&r->json) != HD_OK;
    }
    if (r->rows) {
        if (fclose(r->rows)) needed(NULL);
        csv_write(r->rows_text, r->text);
        free(r->rows_text);
    }
    if (fclose(r->text)) failed = true;
    if (r->pager) pclose(r->pager);
    status = output_close(&r->output, r->a->out.file, status);
    return failed && !status ? BAD_INPUT : status;
}
