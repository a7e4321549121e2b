/* The answer of a command and its destination: text, JSON, or a table. */
#ifndef HEAPDUMP_ANSWER_H
#define HEAPDUMP_ANSWER_H

#include "../shell/shell.h"

/* An open answer, as text or JSON. */
typedef struct answer {
    const arguments *a;
    output output;
    FILE *text, *pager;          /* pager: gets the text; NULL: no pager */
    FILE *rows;                  /* --csv: collects the JSON */
    char *rows_text;             /* the text of `rows`, once it is closed */
    size_t rows_size;
    hd_json json;
    int open;                    /* open levels: the object of answer_open, and its list */
} answer;

/* JSON is {"heapdump":VERSION,"command":...,"files":[...],"LIST":[...]}. The caller writes the elements of the list;
   if `list` is NULL, it writes further members of the object. */
int answer_open(answer *r, const arguments *a, const char *list);
/* Ends the list, so that further members of the object can follow. */
void answer_end_list(answer *r);
/* Closes the answer, and removes its file if the status is not DONE. Returns the status, or BAD_INPUT if writing
   failed. */
int answer_close(answer *r, int status);

#endif
