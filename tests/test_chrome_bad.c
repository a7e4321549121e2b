/* Traces that break the rules. A strict reading refuses every malformed piece, with its place. A lenient reading
   skips the piece and gives one warning. test_chrome_hostile.c has damage that no rule foresees. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "../heapdump.h"
#include "faults.h"
#include "heaps.h"
#include "long.h"
#include "traces.h"

/* Pieces. ------------------------------------------------------------------------------------- */

typedef struct piece {
    const char *name;
    const char *trace;
    const char *rest;      /* result of the lenient reading; NULL: GOOD */
    hd_status status;      /* HD_OK means HD_MALFORMED */
} piece;

#define GOOD "1 0x1 malloc / / 16 -\n1 0x1 malloc /RdMain / 1 -\n"
#define GOOD_HEAP "'malloc':\n{'entries':[\n{'size':'10','bt':''},\n{'size':'1','bt':'3'}\n]}"

#define EXPECT(condition, ...) \
    do                         \
        if (!(condition)) {    \
            print_error("           %s, chunks of %d: ", c->name, (int)chunk), print_error(__VA_ARGS__), print_error("\n"); \
            good = false;      \
        }                      \
    while (0)

/* Reads from memory, then from a callback in the smallest chunks. Prints a fault and returns false. */
static bool is_one_piece(const piece *c) {
    hd_status status = c->status ? c->status : HD_MALFORMED;
    uint64_t at[2] = { HD_UNKNOWN, HD_UNKNOWN };
    char *text = trace_of(c->trace, at);
    size_t size = strlen(text);
    bool good = true;
    assert_true(at[0] < at[1] && at[1] <= size);
    for (size_t chunk = 0; chunk < 2; chunk++) {
        hd__reads reads = { .data = text, .size = size, .chunk = chunk };
        hd_in in = chunk ? hd__faults_in(&reads) : hd_in_memory(text, size);
        warnings seen = { 0 };
        hd_options lenient = { .lenient = true, .warning = keep_warning, .warning_user = &seen };
        hd_dump *d = NULL;
        hd_error err = { 0 };
        hd_status found = hd_read(in, NULL, &d, &err);
        EXPECT(found == status, "a strict reading ends with: %s", found ? err.message : "success");
        if (found) {
            EXPECT(err.status == found && !d && strlen(err.message) > 10, "the error is not filled");
            bool inside = err.offset >= at[0] && err.offset <= at[1];
            EXPECT(inside, "offset %d is not in %d to %d", (int)err.offset, (int)at[0], (int)at[1]);
            /* a callback's earlier bytes are gone at the end of the piece: its last line is accepted */
            if (inside)
                EXPECT(err.line >= line_of(text, err.offset) && err.line <= line_of(text, chunk ? at[1] : err.offset),
                       "line %d is not the offset's", (int)err.line);
        }
        hd_dump_free(d);
        d = NULL;
        reads.at = 0;
        assert_int_equal(hd_read(in, &lenient, &d, NULL), HD_OK);
        EXPECT(seen.count == 1, "%d warnings, the last: %s", (int)seen.count, seen.last.message);
        EXPECT(seen.count == hd_dump_warning_count(d), "the dump counts %d warnings", (int)hd_dump_warning_count(d));
        if (found && seen.count == 1)
            EXPECT(seen.last.status == found && seen.last.offset == err.offset && seen.last.line == err.line &&
                   !strcmp(seen.last.message, err.message), "the warning is not the error");
        char *rest = dump_text(d);
        EXPECT(!strcmp(rest, c->rest ? c->rest : GOOD), "what is read:\n%s", rest);
        free(rest);
        hd_dump_free(d);
    }
    free(text);
    return good;
}

static void assert_pieces(const piece *cases, size_t count) {
    size_t bad = 0;
    for (size_t i = 0; i < count; i++) bad += !is_one_piece(&cases[i]);
    assert_int_equal(bad, 0);
}
#define ASSERT_PIECES(cases) assert_pieces(cases, sizeof(cases) / sizeof *(cases))

/* An entry between two good ones, each on its own line. An error about unknown ids has only the place of the heap. */
#define AMONG(before, entry, after) \
    TRACE("{'malloc':\n" before "{'entries':[\n{'size':'10','bt':''},\n" entry ",\n" after "{'size':'1','bt':'3'}\n]}}")
#define ENTRY(entry) AMONG("", "@" entry "#", "")
#define ENTRY_OF_HEAP(entry) AMONG("@", entry "#", "")

static void entries_that_are_malformed(void **state) {
    (void)state;
    static const piece cases[] = {
        { "unknown frame", ENTRY_OF_HEAP("{'size':'2','bt':'9'}"), NULL, HD_OK },
        { "unknown type", ENTRY_OF_HEAP("{'size':'2','bt':'0',\n'type':'9'}"), NULL, HD_OK },
        { "frame and type unknown", ENTRY_OF_HEAP("{'size':'2','bt':'9','type':'9'}"), NULL, HD_OK },
        { "same entry twice", AMONG("@", "{'size':'7','bt':'3'}", "#"),
          "1 0x1 malloc / / 16 -\n1 0x1 malloc /RdMain / 7 -\n", HD_OK },
        { "size of no digits", ENTRY("{'size':'','bt':'0'}"), NULL, HD_OK },
        { "size of other letters", ENTRY("{'size':'zz','bt':'0'}"), NULL, HD_OK },
        { "size below zero", ENTRY("{'size':'-1','bt':'0'}"), NULL, HD_OK },
        { "size below zero, a number", ENTRY("{'size':-1,'bt':'0'}"), NULL, HD_OK },
        { "size of 2^64", ENTRY("{'size':'10000000000000000','bt':'0'}"), NULL, HD_OK },
        { "size of very many digits", ENTRY("{'size':'111111111111111111111111111111111111111111111111111111111111"
                                            "1111111111111111111111111111111111111111111111','bt':'0'}"), NULL, HD_OK },
        { "size of 0x", ENTRY("{'size':'0x','bt':'0'}"), NULL, HD_OK },
        { "size with a blank", ENTRY("{'size':' 1','bt':'0'}"), NULL, HD_OK },
        { "size null", ENTRY("{'size':null,'bt':'0'}"), NULL, HD_OK },
        { "size true", ENTRY("{'bt':'0',\n'size':true}"), NULL, HD_OK },
        { "size an array", ENTRY("{'size':['1',\n'2'],'bt':'0'}"), NULL, HD_OK },
        { "size an object", ENTRY("{'size':{'size':\n'1'},'bt':'0'}"), NULL, HD_OK },
        { "size missing", ENTRY("{'bt':'0'}"), NULL, HD_OK },
        { "size misspelt", ENTRY("{'Size':'5',\n'bt':'0'}"), NULL, HD_OK },
        { "bt missing", ENTRY("{'size':'5'}"), NULL, HD_OK },
        { "bt missing, a type there", ENTRY("{'size':'5',\n'type':'1'}"), NULL, HD_OK },
        { "bt null", ENTRY("{'size':'5','bt':null}"), NULL, HD_OK },
        { "bt an object", ENTRY("{'size':'5','bt':{'id':\n'0'}}"), NULL, HD_OK },
        { "type an object", ENTRY("{'size':'5','bt':'0','type':{'id':\n'1'}}"), NULL, HD_OK },
        { "type true", ENTRY("{'size':'5','bt':'0','type':true}"), NULL, HD_OK },
        { "count of other letters", ENTRY("{'size':'5','bt':'0','count':'many'}"), NULL, HD_OK },
        { "count below zero", ENTRY("{'size':'5','bt':'0','count':-3}"), NULL, HD_OK },
        { "size and count of other letters", ENTRY("{'size':'x','bt':'0','count':'y'}"), NULL, HD_OK },
        { "size twice", ENTRY("{'size':'5','bt':'0',\n'size':'5'}"), NULL, HD_OK },
        { "bt twice", ENTRY("{'size':'5','bt':'0','bt':'1'}"), NULL, HD_OK },
        { "type twice", ENTRY("{'type':'1','size':'5','bt':'0','type':'1'}"), NULL, HD_OK },
        { "count twice", ENTRY("{'size':'5','bt':'0','count':'1','count':'1'}"), NULL, HD_OK },
        { "size with a fraction", ENTRY("{'size':1.5,'bt':'0'}"), NULL, HD_OK },
        { "count with a fraction", ENTRY("{'size':'5','bt':'0','count':'1.5'}"), NULL, HD_OK },
        { "empty", ENTRY("{}"), NULL, HD_OK },
        { "null", ENTRY("null"), NULL, HD_OK },
        { "a number", ENTRY("5"), NULL, HD_OK },
        { "a string", ENTRY("'size'"), NULL, HD_OK },
        { "an array", ENTRY("[{'size':'2',\n'bt':'0'}]"), NULL, HD_OK },
    };
    ASSERT_PIECES(cases);
}

#define HEAP(heap) TRACE("{'bad':\n@" heap "#,\n" GOOD_HEAP "}")

static void heaps_that_are_malformed(void **state) {
    (void)state;
    static const piece cases[] = {
        { "null", HEAP("null"), NULL, HD_OK },
        { "an array", HEAP("[{'entries':[]}]"), NULL, HD_OK },
        { "a string", HEAP("'entries'"), NULL, HD_OK },
        { "without entries", HEAP("{'entry':[]}"), NULL, HD_OK },
        { "no entries", HEAP("{'entries':[\n]}"), NULL, HD_OK },
        { "entries null", HEAP("{'entries':\nnull}"), NULL, HD_OK },
        { "entries an object", HEAP("{'entries':\n{'size':'1','bt':''}}"), NULL, HD_OK },
        { "entries a string", HEAP("{'entries':'x'}"), NULL, HD_OK },
        { "twice in one dump", TRACE("{" GOOD_HEAP ",\n'malloc':@{'entries':[{'size':'5','bt':''}]}#}"), NULL, HD_OK },
        { "twice in two events of a dump",
          "[" FRAMES "," HEAPS("{" GOOD_HEAP "}") ",\n" HEAPS("{'malloc':\n@{'entries':[{'size':'5','bt':''}]}#}") "]", NULL, HD_OK },
    };
    ASSERT_PIECES(cases);
}

/* A dictionary with more definitions, and entries that use it after two good ones. */
#define DICTIONARY(name, body, entries)                                                                              \
    "[" FRAMES "," TYPES ",\n{'pid':1,'ph':'M','name':'" name "','args':{'" name "':\n" body "}},\n"                   \
    HEAPS("{'malloc':\n{'entries':[{'size':'10','bt':''},{'size':'1','bt':'3'}" entries "]}}") "]"
/* The same, with the error where the dictionary is used. */
#define USED(name, body, entry)                                                                                      \
    "[" FRAMES "," TYPES ",\n{'pid':1,'ph':'M','name':'" name "','args':{'" name "':\n" body "}},\n"                   \
    HEAPS("{'malloc':\n@{'entries':[{'size':'10','bt':''},{'size':'1','bt':'3'},\n" entry "#]}}") "]"

static void dictionaries_that_are_malformed(void **state) {
    (void)state;
    static const piece cases[] = {
        { "frames null", DICTIONARY("stackFrames", "@null#", ""), NULL, HD_OK },
        { "frames an array", DICTIONARY("stackFrames", "@[{'name':\n'f'}]#", ""), NULL, HD_OK },
        { "a frame null", DICTIONARY("stackFrames", "{@'7':null#,'8':{'name':'f'}}", ""), NULL, HD_OK },
        { "a frame a string", DICTIONARY("stackFrames", "{@'7':'f'#,'8':{'name':'f'}}", ""), NULL, HD_OK },
        { "a frame without a name", DICTIONARY("stackFrames", "{@'7':{'parent':\n'0'}#,'8':{'name':'f'}}", ""), NULL, HD_OK },
        { "a frame with a name null", DICTIONARY("stackFrames", "{@'7':{'name':null}#}", ""), NULL, HD_OK },
        { "a frame with a parent true", DICTIONARY("stackFrames", "{@'7':{'name':'f','parent':true}#}", ""), NULL, HD_OK },
        { "a frame with two names", DICTIONARY("stackFrames", "{@'7':{'name':'f',\n'name':'f'}#}", ""), NULL, HD_OK },
        { "a frame with two parents", DICTIONARY("stackFrames", "{@'7':{'name':'f','parent':'0','parent':'0'}#}", ""), NULL, HD_OK },
        { "a frame defined twice", DICTIONARY("stackFrames", "{'7':{'name':'f'},\n@'7':{'name':'g'}#}", ",{'size':'2','bt':'7'}"),
          "1 0x1 malloc / / 16 -\n1 0x1 malloc /RdMain / 1 -\n1 0x1 malloc /f / 2 -\n", HD_OK },
        { "a frame defined twice, other parents",
          DICTIONARY("stackFrames", "{'7':{'name':'f'},\n@'7':{'name':'f','parent':'3'}#}", ",{'size':'2','bt':'7'}"),
          "1 0x1 malloc / / 16 -\n1 0x1 malloc /RdMain / 1 -\n1 0x1 malloc /f / 2 -\n", HD_OK },
        { "types null", DICTIONARY("typeNames", "@null#", ""), NULL, HD_OK },
        { "types an array", DICTIONARY("typeNames", "@['T',\n'U']#", ""), NULL, HD_OK },
        { "a type null", DICTIONARY("typeNames", "{@'7':null#}", ""), NULL, HD_OK },
        { "a type an object", DICTIONARY("typeNames", "{@'7':{'name':\n'T'}#}", ""), NULL, HD_OK },
        { "a type defined twice", DICTIONARY("typeNames", "{'7':'T',@'7':'U'#}", ""), NULL, HD_OK },
        { "parent of itself", USED("stackFrames", "{'7':{'name':'f','parent':'7'}}", "{'size':'2','bt':'7'}"), NULL, HD_OK },
        { "two parents of each other",
          USED("stackFrames", "{'7':{'name':'f','parent':'8'},'8':{'name':'g','parent':'7'}}", "{'size':'2','bt':'8'}"), NULL, HD_OK },
        { "below a cycle",
          USED("stackFrames", "{'7':{'name':'f','parent':'8'},'8':{'name':'g','parent':'8'}}", "{'size':'2','bt':'7'}"), NULL, HD_OK },
    };
    ASSERT_PIECES(cases);
}

/* As in the trace viewer. One warning is enough, however many entries are below the frame. */
static void frames_with_an_undefined_parent_keep_their_entries(void **state) {
    (void)state;
    static const piece cases[] = {
        { "a frame", DICTIONARY("stackFrames", "{@'7':{'name':'f','parent':'99'}#}", ",{'size':'2','bt':'7'}"),
          "1 0x1 malloc / / 16 -\n1 0x1 malloc /RdMain / 1 -\n1 0x1 malloc /f / 2 -\n", HD_OK },
        { "frames below it",
          DICTIONARY("stackFrames", "{'9':{'name':'h','parent':'7'},'8':{'name':'g','parent':'7'},\n@'7':{'name':'f','parent':'99'}#}",
                     ",{'size':'2','bt':'9'},{'size':'4','bt':'8'},{'size':'8','bt':'7'}"),
          "1 0x1 malloc / / 16 -\n1 0x1 malloc /RdMain / 1 -\n1 0x1 malloc /f / 8 -\n1 0x1 malloc /f/g / 4 -\n"
          "1 0x1 malloc /f/h / 2 -\n", HD_OK },
        { "a frame of the trace",
          "{'stackFrames':{\n@'7':{'name':'f','parent':'99'}#},'traceEvents':[" FRAMES ","
          HEAPS("{'malloc':{'entries':[{'size':'10','bt':''},{'size':'1','bt':'7'}]}}") "]}",
          "1 0x1 malloc / / 16 -\n1 0x1 malloc /f / 1 -\n", HD_OK },
        { "a node of heaps_v2",
          V2_TRACE("{'m':\n{'nodes':[1,2],'sizes':[3,5]}}", "{" V2_MAPS ",'nodes':[{'id':3,'name_sid':1},@{'id':2,'name_sid':1,'parent':8}#]}"),
          "1 1 m self /f / 8 -\n", HD_OK },
    };
    ASSERT_PIECES(cases);
    assert_reads(V2_TRACE("{'m':{'nodes':[2],'sizes':[5]}}", "{" V2_MAPS ",'nodes':[{'id':2,'name_sid':1,'parent':0}]}"),
                 "1 1 m self /f / 5 -\n");
}

/* An unused definition may have an undefined parent: real dictionaries are cut off, too. */
static void definitions_that_nothing_uses_need_not_lead_anywhere(void **state) {
    (void)state;
    assert_reads(DICTIONARY("stackFrames", "{'7':{'name':'f','parent':'7'},'8':{'name':'g','parent':'99'}}", ""), GOOD);
}

static void events_that_are_malformed(void **state) {
    (void)state;
    static const piece cases[] = {
        { "null", "[" FRAMES ",\n@null#,\n" HEAPS("{" GOOD_HEAP "}") "]", NULL, HD_OK },
        { "a number", "[" FRAMES ",\n@5#,\n" HEAPS("{" GOOD_HEAP "}") "]", NULL, HD_OK },
        { "a string", "[" FRAMES ",\n@'event'#,\n" HEAPS("{" GOOD_HEAP "}") "]", NULL, HD_OK },
        { "an array", "[" FRAMES ",\n@[{}\n,{}]#,\n" HEAPS("{" GOOD_HEAP "}") "]", NULL, HD_OK },
        { "heaps null", "[" FRAMES "," HEAPS("@null#") ",\n" HEAPS("{" GOOD_HEAP "}") "]", NULL, HD_OK },
        { "heaps an array", "[" FRAMES "," HEAPS("@[{'malloc':\n{}}]#") ",\n" HEAPS("{" GOOD_HEAP "}") "]", NULL, HD_OK },
        { "dumps null", "[{'ph':'v','pid':1,'id':'0x1','args':{'dumps':@null#}},\n" FRAMES "," HEAPS("{" GOOD_HEAP "}") "]", NULL, HD_OK },
        { "an invalid pid",
          "[" FRAMES "," HEAPS("{" GOOD_HEAP "}") ",\n{'ph':'v',\n'pid':@'x'#,'id':'1','args':{'dumps':{'heaps':{'m':{'entries':["
          "{'size':'1','bt':''}]}}}}}]", NULL, HD_OK },
        { "a pid below zero",
          "[" FRAMES "," HEAPS("{" GOOD_HEAP "}") ",\n{'ph':'v','args':{'dumps':{'heaps':{'m':{'entries':["
          "{'size':'1','bt':''}]}}}},\n'pid':@-1#,'id':'1'}]", NULL, HD_OK },
        { "an invalid time",
          "[" FRAMES ",\n{'pid':1,'ts':@null#,'ph':'v','id':'0x1','args':{'dumps':{'heaps':{" GOOD_HEAP "}}}}]", NULL, HD_OK },
        { "args null", "[" FRAMES "," HEAPS("{" GOOD_HEAP "}") ",\n@{'ph':'v','pid':1,'id':'1','args':null}#]", NULL, HD_OK },
        { "args an array", "[" FRAMES "," HEAPS("{" GOOD_HEAP "}") ",\n@{'args':[],'ph':'v','pid':1,'id':'1'}#]", NULL, HD_OK },
        { "two pids", "[" FRAMES "," HEAPS("{" GOOD_HEAP "}") ",\n@{'ph':'v','pid':1,'id':'1','pid':2,'args':{'dumps':{'heaps':{'m':{"
          "'entries':[{'size':'1','bt':''}]}}}}}#]", NULL, HD_OK },
        { "two args", "[" FRAMES "," HEAPS("{" GOOD_HEAP "}") ",\n@{'ph':'v','pid':1,'id':'1','args':{'dumps':{'heaps':{'m':{"
          "'entries':[{'size':'1','bt':''}]}}}},'args':{}}#]", NULL, HD_OK },
        { "no array of events", "{'traceEvents':@null#}", "", HD_OK },
        { "an object of events", "{'traceEvents':\n@{}#}", "", HD_OK },
        { "behind a byte order mark", "\xef\xbb\xbf[" FRAMES "\n,@5#,\n" HEAPS("{" GOOD_HEAP "}") "]", NULL, HD_OK },
    };
    ASSERT_PIECES(cases);
}

static void v2_heaps_that_are_malformed(void **state) {
    (void)state;
    static const piece cases[] = {
        { "heap null", V2_HEAP("@null#"), V2_GOOD, HD_OK },
        { "heap an array", V2_HEAP("@[]#"), V2_GOOD, HD_OK },
        { "heap empty", V2_HEAP("@{}#"), V2_GOOD, HD_OK },
        { "column null", V2_HEAP("@{'nodes':[1],\n'sizes':null}#"), V2_GOOD, HD_OK },
        { "column an object", V2_HEAP("@{'nodes':{},\n'sizes':[1]}#"), V2_GOOD, HD_OK },
        { "columns of other lengths", V2_HEAP("@{'nodes':[1],\n'sizes':[1,2]}#"), V2_GOOD, HD_OK },
        { "fewer counts", V2_HEAP("@{'nodes':[1,1],\n'sizes':[1,2],'counts':[1]}#"), V2_GOOD, HD_OK },
        { "column twice, the second shorter", V2_HEAP("@{'nodes':[1,1,1],'sizes':[1,2,3],\n'nodes':[1],'sizes':[2]}#"), V2_GOOD, HD_OK },
        { "unknown node", V2_CELLS("@", "'nodes':[1,9],'sizes':[3,5]", "#"), V2_GOOD, HD_OK },
        { "unknown type", V2_CELLS("@", "'nodes':[1,1],'sizes':[3,5],'types':[0,9]", "#"), V2_GOOD, HD_OK },
        { "node null", V2_CELLS("@", "'nodes':[1,null],'sizes':[3,5]", "#"), V2_GOOD, HD_OK },
        { "node an array", V2_CELLS("@", "'nodes':[1,[1]],'sizes':[3,5]", "#"), V2_GOOD, HD_OK },
        { "size that is no number", V2_CELLS("@", "'nodes':[1,0],'sizes':[3,'x']", "#"), V2_GOOD, HD_OK },
        { "size below zero", V2_CELLS("@", "'nodes':[1,0],'sizes':[3,-5]", "#"), V2_GOOD, HD_OK },
        { "size with a fraction", V2_CELLS("@", "'nodes':[1,0],'sizes':[3,5.25]", "#"), V2_GOOD, HD_OK },
        { "size with a small fraction", V2_CELLS("@", "'nodes':[1,0],'sizes':[3,525e-2]", "#"), V2_GOOD, HD_OK },
        { "size null", V2_CELLS("@", "'nodes':[1,0],'sizes':[3,null]", "#"), V2_GOOD, HD_OK },
        { "size of 2^64", V2_CELLS("@", "'nodes':[1,0],'sizes':[3,18446744073709551616]", "#"), V2_GOOD, HD_OK },
        { "sizes that pass 2^64", V2_CELLS("@", "'nodes':[1,0],'sizes':[3,18446744073709551613]", "#"), V2_GOOD, HD_OVERFLOW },
        { "count that is no number", V2_CELLS("@", "'nodes':[1,1],'sizes':[3,5],'counts':[2,'x']", "#"),
          "1 1 m self /f / 3 2\n", HD_OK },
        { "allocators null", V2_TRACE("@null#", "{" V2_MAPS "}"), "", HD_OK },
        { "maps null", "[{'pid':1,'ph':'v','id':'1','args':{'dumps':{'heaps_v2':{'allocators':{'m':{'nodes':[0],'sizes':[3]}},"
          "\n'maps':@null#}}}}]", "1 1 m self / / 3 -\n", HD_OK },
        { "heaps_v2 null", "[" FRAMES "," HEAPS("{" GOOD_HEAP "}") ",\n{'pid':1,'ph':'v','id':'1','args':{'dumps':{'heaps_v2':@null#}}}]",
          NULL, HD_OK },
        { "map null", V2_MORE("'nodes':@null#"), V2_GOOD, HD_OK },
        { "map an object", V2_MORE("'types':@{}#"), V2_GOOD, HD_OK },
        { "item null", V2_MORE("'nodes':[@null#]"), V2_GOOD, HD_OK },
        { "item without id", V2_MORE("'nodes':[@{'name_sid':1}#]"), V2_GOOD, HD_OK },
        { "item without name", V2_MORE("'strings':[@{'id':\n1}#]"), V2_GOOD, HD_OK },
        { "item with two ids", V2_MORE("'nodes':[@{'id':7,'name_sid':1,'id':7}#]"), V2_GOOD, HD_OK },
        { "item with two names", V2_MORE("'strings':[@{'id':7,'string':'g','string':'h'}#]"), V2_GOOD, HD_OK },
        { "item defined twice", V2_MORE("'strings':[@{'id':1,'string':'g'}#]"), V2_GOOD, HD_OK },
        { "node with an unknown string",
          V2_TRACE("{'m':\n@{'nodes':[1,2],'sizes':[3,5]}#}", "{" V2_MAPS ",'nodes':[{'id':2,'name_sid':7}]}"), V2_GOOD, HD_OK },
        { "node that is its parent",
          V2_TRACE("{'m':\n@{'nodes':[1,2],'sizes':[3,5]}#}", "{" V2_MAPS ",'nodes':[{'id':2,'name_sid':1,'parent':2}]}"), V2_GOOD, HD_OK },
    };
    ASSERT_PIECES(cases);
}

/* Invalid JSON ends the reading. Leniently, the events before it count. An incomplete event adds nothing, not even
   frames for other processes. */
static void syntax_errors_cost_the_rest(void **state) {
    (void)state;
    static const char good[] = "[" FRAMES ",\n" HEAPS("{" GOOD_HEAP "}") ",\n";
    static const char *const bad[] = {
        "@}#", "@x#", "@nul#", "{@x#", "{'ph':'v','pid'@}#", "{'pid':@,'ph':'M'#}", "{'ph':'v','pid':1,@}#", "{'pid':1@]#", "{'a':'\\@u12g4'#", "{'a':'\\@q'#",
        "{'pid':1}@5#", "{}]@]#", "{'a':[1,@]#", "{'args':{'dumps':{'heaps':{'m':{'entries':[{'size':'1','bt':''}]}}@]#",
    };
    size_t wrong = 0;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[2048];
        snprintf(text, sizeof text, "%s%s", good, bad[i]);
        wrong += !is_one_piece(&(piece){ bad[i], text, NULL, HD_OK });
    }
    assert_int_equal(wrong, 0);
    static const piece cut = {
        "cut in a dictionary",
        "[" HEAPS("{'m':@{'entries':[{'size':'10','bt':''},{'size':'1','bt':'7'}]}}") ",\n"
        "{'ph':'M','pid':2,'name':'stackFrames','args':{'stackFrames':{'7':{'name':'of another process'}",
        "1 0x1 m / / 16 -\n", HD_OK };
    char *text = trace_of(cut.trace, (uint64_t[2]){ 0 });
    warnings seen = { 0 };
    hd_options lenient = { .lenient = true, .warning = keep_warning, .warning_user = &seen };
    hd_dump *d;
    assert_int_equal(hd_read_memory(text, strlen(text), &lenient, &d, NULL), HD_OK);
    assert_text(dump_text(d), cut.rest);
    assert_int_equal(seen.count, 2);
    hd_dump_free(d);
    free(text);
}

/* In events that cannot matter, the reader checks only brackets and strings. */
static void events_passed_over_need_only_end(void **state) {
    (void)state;
    static const char *const good[] = { "{'pid'}", "{'pid':}", "{'a' 'b' c}", "{'ph':'X','args':{1,2,{'}':\\},,[{},[]]}}", "{nul}" };
    static const char *const bad[] = { "{'ph':'X','args':{'a':[1@}#", "{'ph':'X','args':[{}@}#", "{'ph':'X','args':{'a':'}@}]]#",
                                       "{'a':@'\\'#", "{'a':[[[]]@}#" };
    size_t wrong = 0;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        char text[2048];
        snprintf(text, sizeof text, "[" FRAMES ",%s,\n" HEAPS("{" GOOD_HEAP "}") ",%s]", good[i], good[i]);
        assert_reads(text, GOOD);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[2048];
        snprintf(text, sizeof text, "[" FRAMES "," HEAPS("{" GOOD_HEAP "}") ",\n%s", bad[i]);
        wrong += !is_one_piece(&(piece){ bad[i], text, NULL, HD_OK });
    }
    assert_int_equal(wrong, 0);
}

/* An error begins with the event, pid and dump, as far as they were read. */
static void complaints_name_event_pid_and_dump(void **state) {
    (void)state;
    static const struct {
        const char *trace, *begin;
    } cases[] = {
        { "[{},{}," HEAPS("{'m':{'entries':[{'size':'1','bt':''},5]}}") "]", "event 2, pid 1, dump 0x1: a heap entry" },
        { "[{'ph':'X'}," HEAPS("{'m':{'entries':[{'size':'1','bt':''},{'size':'1','bt':'7'}]}}") "]",
          "event 1, pid 1, dump 0x1: entry 1 of the heap of m: stack frame '7'" },
        { "[{},{'ph':'v','pid':7,'args':{'dumps':null}}]", "event 1, pid 7: dumps" },
        { "[{},{'ph':'v','args':{'dumps':null},'pid':7}]", "event 1: dumps" },
        { "[" FRAMES ",{'pid':1,'ph':'M','args':{'stackFrames':{'0':{'name':'x'}}}}]", "event 1, pid 1: id '0' is defined twice" },
        { "{'stackFrames':{'0':5},'traceEvents':[]}", "frame '0' has no name" },
        { "[{},5]", "event 1: expected an object" },
        { "[{},{'ph':'v','pid':3,]", "event 1, pid 3: a key expected, ']' found" },
        { "[{'ph':'v','pid':3,'id':'12345678901234567890123456789012345678901234567890','args':{'dumps':5}}]",
          "event 0, pid 3, dump 12345678901234567890123456789012: dumps" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *text = trace_of(cases[i].trace, NULL);
        hd_dump *d = NULL;
        hd_error err = { 0 };
        assert_int_equal(hd_read_memory(text, strlen(text), NULL, &d, &err), HD_MALFORMED);
        err.message[strlen(cases[i].begin)] = 0;
        assert_string_equal(err.message, cases[i].begin);
        free(text);
    }
}

/* Sizes beyond the range of a double, and invalid UTF-8, are accepted. */
static void large_sizes_and_odd_names_stay_as_they_are(void **state) {
    (void)state;
    assert_reads(ENTRIES("{'size':'20000000000001','bt':''},{'size':'20000000000003','bt':'0'}"),
                 "1 0x1 malloc / / 9007199254740993 -\n1 0x1 malloc /BrMain / 9007199254740995 -\n");
    assert_reads(V2_CELLS("", "'nodes':[1],'sizes':[9007199254740993]", ""), "1 1 m self /f / 9007199254740993 -\n");
    assert_reads(V2_CELLS("", "'nodes':[1],'sizes':[30.0e-1]", ""), V2_GOOD);
    assert_reads("[{'pid':1,'ph':'M','args':{'stackFrames':{'0':{'name':'a\xff\xc0\x80'},'1':{'name':'\\udc00\\ud800x'}}}},"
                 HEAPS("{'malloc':{'entries':[{'size':'3','bt':''},{'size':'1','bt':'0'},{'size':'2','bt':'1'}]}}") "]",
                 "1 0x1 malloc / / 3 -\n1 0x1 malloc /a\xff\xc0\x80 / 1 -\n"
                 "1 0x1 malloc /\xed\xb0\x80\xed\xa0\x80x / 2 -\n");
}

/* Only the bytes of an event decide whether the reader skips it, not the bounds of blocks and windows. */
static void events_passed_over_are_the_same_in_all_inputs(void **state) {
    (void)state;
    for (size_t shift = 0; shift < 70; shift++)
        for (int kind = 0; kind < 3; kind++) {
            static const char *const last[] = { "\"M", "\"v", "\\" };
            char text[512];
            snprintf(text, sizeof text, "[{\"a\":1+\"%*s\"},{\"b\":2+\"%s.\"},{\"ph\":\"X\",\"c\":[{\"v\":3}]}]", (int)shift, "", last[kind]);
            hd_dump *d = NULL;
            hd_status status = hd_read_memory(text, strlen(text), NULL, &d, NULL);
            hd_dump_free(d);
            for (size_t chunk = 1; chunk < 140; chunk += 1 + chunk / 8) {
                hd__reads reads = { .data = text, .size = strlen(text), .chunk = chunk };
                d = NULL;
                assert_int_equal(hd_read(hd__faults_in(&reads), NULL, &d, NULL), status);
                hd_dump_free(d);
            }
        }
}

static void sums_of_sizes_over_64_bits_are_reported(void **state) {
    (void)state;
    char *text = trace_of(ENTRIES("{'size':'ffffffffffffffff','bt':'0'},{'size':'2','bt':'3'}"), NULL);
    hd_options options = { .lenient = true };
    hd_dump *d = NULL;
    hd_error err = { 0 };
    assert_int_equal(hd_read_memory(text, strlen(text), NULL, &d, &err), HD_OVERFLOW);
    assert_null(d);
    assert_true(err.offset < strlen(text) && err.line > 1);
    assert_int_equal(hd_read_memory(text, strlen(text), &options, &d, &err), HD_OK);
    assert_int_equal(hd_dump_warning_count(d), 1);
    assert_true(hd_dump_heap(d, 0)->breakdown->entries.amount[0].bytes == UINT64_MAX - 1);
    hd_dump_free(d);
    free(text);
}

static void gzip_is_named(void **state) {
    (void)state;
    hd_dump *d;
    hd_error err = { 0 };
    assert_int_equal(hd_read_memory("\x1f\x8b\x08", 3, NULL, &d, &err), HD_UNSUPPORTED);
    assert_non_null(strstr(err.message, "gzip"));
}

static void text_that_is_no_trace_is_an_unknown_format(void **state) {
    (void)state;
    static const char *const texts[] = { "", "x", "5", "'traceEvents'", "\xef\xbb\xbf", "   ", "\xef\xbb", "<html>", "null" };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        for (int lenient = 0; lenient < 2; lenient++) {
            char *text = trace_of(texts[i], NULL);
            hd_options options = { .lenient = lenient != 0 };
            hd_dump *d = NULL;
            hd_error err = { 0 };
            assert_int_equal(hd_read_memory(text, strlen(text), &options, &d, &err), HD_UNKNOWN_FORMAT);
            assert_int_equal(err.status, HD_UNKNOWN_FORMAT);
            assert_null(d);
            free(text);
        }
    hd_error err = { 0 };
    hd_dump *d = NULL;
    assert_int_equal(hd_read_file("tests/data/no such file", NULL, &d, &err), HD_IO);
    assert_int_equal(err.status, HD_IO);
}

/* The reader has a fast path for entries and columns in the form of real programs, and a slow path by tokens. Random
   entries, valid and not, must read equally from memory and byte by byte. --- */

static const char *pick(uint64_t *r, const char *const *from, size_t n) { return from[hd__test_below(r, n)]; }
#define PICK(r, from) pick(r, from, sizeof from / sizeof *from)

static void put_random_entry(FILE *f, uint64_t *r) {
    static const char *const plain[] = { "\"size\":\"1f\"", "\"bt\":\"0\"", "\"type\":\"1\"", "\"count\":\"2\"", "\"bt\":\"1\"",
                                         "\"size\":\"ffffffffffffffff\"", "\"error\":\"a\"", "\"bt\":\"2\"", "\"type\":\"2\"" };
    static const char *const odd[] = {
        "\"size\":\"01f\"", "\"size\":\"0x1f\"", "\"size\":\"1F\"", "\"size\":\"\"", "\"size\":\"10000000000000000\"", "\"size\":\"00000000000000001\"",
        "\"size\": \"1\"", "\"size\":1", "\"size\":\"1g\"", "\"size\":\"\\u0031\"", "\"s\\u0069ze\":\"3\"", "\"sizes\":\"3\"", "\"siz\":\"3\"", "\"bt\":\"\"",
        "\"bt\":\"00\"", "\"bt\":\"01\"", "\"bt\":\"1000000000\"", "\"bt\":\"999999999\"", "\"bt\":1", "\"bt\":\"x\"", "\"bt\":null", "\"b\":\"1\"",
        "\"type\":\"\"", "\"type\":\"9\"", "\"count\":\"0\"", "\"count\":\"-1\"", "\"error\":\"\"", "\"e\":[{\"size\":\"1\"}]", "", "\"\":1", "\"size\":\"1\"x",
    };
    bool sound = hd__test_below(r, 3) != 0;
    fputc('{', f);
    if (sound) fprintf(f, "\"size\":\"%x\",\"bt\":\"%d\"", (unsigned)hd__test_below(r, 5000), (int)hd__test_below(r, 4));
    for (uint64_t n = hd__test_below(r, sound ? 2 : 5), i = sound; n; n--, i++)
        fprintf(f, "%s%s", i ? "," : "", hd__test_below(r, 12) ? PICK(r, plain) : PICK(r, odd));
    fputc('}', f);
}

static void put_random_column(FILE *f, uint64_t *r, const char *name, size_t n) {
    static const char *const odd[] = { "01", "-1", "1.5", "1e2", "\"2\"", " 1", "1 ", "null", "1000000000", "999999999999999999",
                                       "9999999999999999999", "18446744073709551616", "[1]", "" };
    fprintf(f, ",\"%s\":[", name);
    for (size_t i = 0; i < n; i++) {
        if (i) fputc(',', f);
        if (hd__test_below(r, 40)) fprintf(f, "%d", (int)hd__test_below(r, hd__test_below(r, 2) ? 4 : 100));
        else fputs(PICK(r, odd), f);
    }
    fputc(']', f);
}

static char *random_trace(uint64_t *r, size_t *size) {
    static const char *const gaps[] = { ",", ",\n", ",\n", ",\n", " ,", ",\r\n", ", ", ",,", "" };
    char *text, *frames = trace_of("[" FRAMES "," TYPES ",", NULL);
    FILE *f = open_memstream(&text, size);
    fprintf(f, "%s{\"pid\":1,\"ph\":\"v\",\"id\":\"a\",\"args\":{\"dumps\":{\"heaps\":{\"m\":{\"entries\":[\n", frames);
    for (uint64_t n = hd__test_below(r, 9); n; n--) {
        put_random_entry(f, r);
        if (n > 1) fputs(hd__test_below(r, 4) ? ",\n" : PICK(r, gaps), f);
    }
    size_t n = hd__test_below(r, 20);
    fputs("]}},\"heaps_v2\":{\"maps\":{\"nodes\":[{\"id\":1,\"name_sid\":1},{\"id\":2,\"name_sid\":1,\"parent\":1}],\"types\":[{\"id\":3,\"name_sid\":1}],"
          "\"strings\":[{\"id\":1,\"string\":\"f\"}]},\"allocators\":{\"m\":{\"x\":0", f);
    put_random_column(f, r, "nodes", n);
    put_random_column(f, r, "sizes", n);
    if (hd__test_below(r, 2)) put_random_column(f, r, "counts", n);
    if (hd__test_below(r, 2)) put_random_column(f, r, "types", n);
    fputs("}}}}}}]                               ", f); /* so that the fast path sees the last entry, too */
    fclose(f);
    free(frames);
    return text;
}

static void keep_messages(void *user, const hd_error *warning) {
    fprintf((FILE *)user, "%d %" PRIu64 " %" PRIu64 " %s\n", (int)warning->status, warning->offset, warning->line, warning->message);
}

/* The whole result of a reading. */
static char *outcome(const char *text, size_t size, bool lenient, bool bytewise) {
    char *told;
    size_t length;
    FILE *f = open_memstream(&told, &length);
    hd__reads pieces = { .data = (const uint8_t *)text, .size = size, .chunk = 1 };
    hd_options options = { .lenient = lenient, .warning = keep_messages, .warning_user = f };
    hd_dump *d = NULL;
    hd_error err = { 0 };
    if (hd_read(bytewise ? hd__faults_in(&pieces) : hd_in_memory(text, size), &options, &d, &err)) keep_messages(f, &err);
    if (d) {
        char *heaps = dump_text(d);
        fputs(heaps, f);
        free(heaps);
    }
    hd_dump_free(d);
    fclose(f);
    return told;
}

static void plain_entries_are_read_like_tokens(void **state) {
    (void)state;
    uint64_t r = 41, sound = 0;
    for (int round = 0; round < long_or_short(6000, 1500); round++) {
        size_t size;
        char *text = random_trace(&r, &size);
        for (int lenient = 0; lenient < 2; lenient++) {
            char *a = outcome(text, size, lenient, false), *b = outcome(text, size, lenient, true);
            if (strcmp(a, b)) print_error("%s\n", text);
            assert_string_equal(a, b);
            if (!lenient) sound += strstr(a, "expected") == NULL && strstr(a, "duplicate") == NULL;
            free(a);
            free(b);
        }
        free(text);
    }
    assert_in_range(sound, (uint64_t)long_or_short(6000, 1500) / 12, (uint64_t)long_or_short(6000, 1500) / 12 * 11);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entries_that_are_malformed),
        cmocka_unit_test(heaps_that_are_malformed),
        cmocka_unit_test(dictionaries_that_are_malformed),
        cmocka_unit_test(frames_with_an_undefined_parent_keep_their_entries),
        cmocka_unit_test(definitions_that_nothing_uses_need_not_lead_anywhere),
        cmocka_unit_test(events_that_are_malformed),
        cmocka_unit_test(v2_heaps_that_are_malformed),
        cmocka_unit_test(syntax_errors_cost_the_rest),
        cmocka_unit_test(events_passed_over_need_only_end),
        cmocka_unit_test(complaints_name_event_pid_and_dump),
        cmocka_unit_test(large_sizes_and_odd_names_stay_as_they_are),
        cmocka_unit_test(events_passed_over_are_the_same_in_all_inputs),
        cmocka_unit_test(sums_of_sizes_over_64_bits_are_reported),
        cmocka_unit_test(gzip_is_named),
        cmocka_unit_test(plain_entries_are_read_like_tokens),
        cmocka_unit_test(text_that_is_no_trace_is_an_unknown_format),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
