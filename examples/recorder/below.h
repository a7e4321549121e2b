/* The allocator below the recorder: functions of the C library and operators of C++ that hooks call.
   A part of heapdump_record.c, which includes it once. */
#ifndef RECORD_BELOW_H
#define RECORD_BELOW_H

static struct {
    void *(*malloc)(size_t);
    void *(*calloc)(size_t, size_t);
    void *(*realloc)(void *, size_t);
    void *(*reallocarray)(void *, size_t, size_t);
    int (*posix_memalign)(void **, size_t, size_t);
    void *(*aligned_alloc)(size_t, size_t);
    void *(*memalign)(size_t, size_t);
    void *(*valloc)(size_t);
    void *(*pvalloc)(size_t);
    void (*free)(void *);
    int (*dlclose)(void *);
    int (*pthread_setname_np)(pthread_t, const char *);
    int (*prctl)(int, ...);
    int (*execve)(const char *, char *const *, char *const *);
    int (*execvpe)(const char *, char *const *, char *const *);
    int (*fexecve)(int, char *const *, char *const *);
    int (*posix_spawn)(pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *,
                       char *const *, char *const *);
    int (*posix_spawnp)(pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *,
                        char *const *, char *const *);
    int (*setuid)(uid_t);
    int (*seteuid)(uid_t);
    int (*setreuid)(uid_t, uid_t);
    int (*setresuid)(uid_t, uid_t, uid_t);
    int (*setgid)(gid_t);
    int (*setegid)(gid_t);
    int (*setregid)(gid_t, gid_t);
    int (*setresgid)(gid_t, gid_t, gid_t);
} real;

/* Memory for dlsym's own allocations while `real` is filled. Never freed. */
static char bootstrap[16384];
static size_t bootstrap_used;

/* operator new and delete, by their mangled names. */
enum { NEWS = 8, DELETES = 12 };
static const char *const new_names[NEWS] = {
    "_Znwm", "_Znam", "_ZnwmRKSt9nothrow_t", "_ZnamRKSt9nothrow_t",
    "_ZnwmSt11align_val_t", "_ZnamSt11align_val_t",
    "_ZnwmSt11align_val_tRKSt9nothrow_t", "_ZnamSt11align_val_tRKSt9nothrow_t" };
static const char *const delete_names[DELETES] = {
    "_ZdlPv", "_ZdaPv", "_ZdlPvm", "_ZdaPvm", "_ZdlPvRKSt9nothrow_t", "_ZdaPvRKSt9nothrow_t",
    "_ZdlPvSt11align_val_t", "_ZdaPvSt11align_val_t", "_ZdlPvmSt11align_val_t", "_ZdaPvmSt11align_val_t",
    "_ZdlPvSt11align_val_tRKSt9nothrow_t", "_ZdaPvSt11align_val_tRKSt9nothrow_t" };
typedef void *new_fn(size_t, uintptr_t, uintptr_t); /* one type for all variants; a variant ignores the arguments that
                                                       it lacks */
typedef void delete_fn(void *, uintptr_t, uintptr_t);
static new_fn *real_new[NEWS];
static delete_fn *real_delete[DELETES];
/* Variants that belong to the malloc below this library, and do not call it. */
static bool new_is_below[NEWS], delete_is_below[DELETES];

static void *bootstrap_take(size_t n) {
    size_t at = bootstrap_used;
    n = (n + 15) & ~(size_t)15;
    if (n > sizeof bootstrap - at) return NULL;
    bootstrap_used = at + n;
    return bootstrap + at;
}

static bool is_bootstrap(const void *p) {
    return (const char *)p >= bootstrap && (const char *)p < bootstrap + sizeof bootstrap;
}

#endif
