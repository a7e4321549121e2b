/* HD_SCOPE pops its entry however the block is left, in C and in C++. */
#include "heapdump.h"

#define EXPECT(x) do { if (!(x)) return __LINE__; } while (0)

static uint32_t inside;

static int leave_by_return(int early) {
    HD_SCOPE("test", "leave_by_return");
    if (early) {
        HD_SCOPE("test", "early");
        inside = hd_tracker_depth();
        return 1;
    }
    inside = hd_tracker_depth();
    return 0;
}

static int leave_by_jumps(void) {
    for (int i = 0; i < 3; i++) {
        HD_SCOPE("test", "loop");
        EXPECT(hd_tracker_depth() == 1);
        if (i == 0) continue;
        if (i == 2) break;
        {
            HD_SCOPE("test", "nested");
            HD_SCOPE("test", "two on"); HD_SCOPE_NAMED("test", inside ? "a line" : "another");
            EXPECT(hd_tracker_depth() == 4);
        }
    }
    EXPECT(hd_tracker_depth() == 0);
    {
        HD_SCOPE("test", "goto");
        EXPECT(hd_tracker_depth() == 1);
        goto out;
    }
out:
    EXPECT(hd_tracker_depth() == 0);
    return 0;
}

#ifdef __cplusplus
static void leave_by_exception(int n) {
    HD_SCOPE("test", "leave_by_exception");
    if (n) leave_by_exception(n - 1);
    inside = hd_tracker_depth();
    throw 7;
}

static int exceptions(void) {
    HD_SCOPE("test", "exceptions");
    bool caught = false;
    try {
        leave_by_exception(4);
    } catch (int) {
        caught = true;
        EXPECT(hd_tracker_depth() == 1);
    }
    EXPECT(caught && inside == 6);
    return 0;
}
#endif

static int scopes(void) {
    EXPECT(leave_by_return(1) == 1 && inside == 2 && hd_tracker_depth() == 0);
    EXPECT(leave_by_return(0) == 0 && inside == 1 && hd_tracker_depth() == 0);
#ifdef __cplusplus
    EXPECT(exceptions() == 0 && hd_tracker_depth() == 0);
#endif
    return leave_by_jumps();
}

int main(void) {
    hd_tracker_desc desc = { NULL, HD_CAPTURE_DEFAULT, "test", 0, NULL, NULL };
    { HD_SCOPE("test", "not running"); EXPECT(hd_tracker_depth() == 0); }
    desc.contexts = hd_contexts_create(NULL);
    EXPECT(desc.contexts && hd_tracker_start(&desc, NULL) == HD_OK);
    int line = scopes();
    { HD_SCOPE("other", "category is off"); EXPECT(hd_tracker_depth() == 0); }
    hd_tracker_stop();
    hd_contexts_free(desc.contexts);
    return line;
}
