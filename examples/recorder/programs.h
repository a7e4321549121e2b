/* Programs that this one becomes, or starts: they are recorded too, by exec.h.
   A part of heapdump_record.c, which includes it once. */
#ifndef RECORD_PROGRAMS_H
#define RECORD_PROGRAMS_H

static bool passes(void) {
    return !over && !(join_flags & JOIN_NO_CHILDREN) && !(join_flags & JOIN_SAME_USER && get_state() == OFF);
}

EXPORT int execve(const char *path, char *const *arguments, char *const *variables) {
    exec_passed passed = exec_pass((exec_program){ AT_FDCWD, path, false }, variables, passes());
    int status;
    exec_report(&passed, getpid());
    status = real.execve ? real.execve(path, arguments, passed.variables)
                         : (int)syscall(SYS_execve, path, arguments, passed.variables);
    exec_failed(&passed);
    return status;
}
EXPORT int execv(const char *path, char *const *arguments) { return execve(path, arguments, environ); }
EXPORT int execvpe(const char *file, char *const *arguments, char *const *variables) {
    exec_passed passed = exec_pass((exec_program){ AT_FDCWD, file, true }, variables, passes());
    int status;
    exec_report(&passed, getpid());
    status = real.execvpe ? real.execvpe(file, arguments, passed.variables) : (errno = ENOSYS, -1);
    exec_failed(&passed);
    return status;
}
EXPORT int execvp(const char *file, char *const *arguments) { return execvpe(file, arguments, environ); }
EXPORT int fexecve(int fd, char *const *arguments, char *const *variables) {
    exec_passed passed = exec_pass((exec_program){ fd, "", false }, variables, passes());
    int status;
    exec_report(&passed, getpid());
    status = real.fexecve ? real.fexecve(fd, arguments, passed.variables) : (errno = ENOSYS, -1);
    exec_failed(&passed);
    return status;
}
EXPORT int execveat(int fd, const char *path, char *const *arguments, char *const *variables, int flags) {
    exec_passed passed = exec_pass((exec_program){ fd, path, false }, variables, passes());
    int status;
    exec_report(&passed, getpid());
    status = (int)syscall(SYS_execveat, fd, path, arguments, passed.variables, flags);
    exec_failed(&passed);
    return status;
}
EXPORT int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
                       const posix_spawnattr_t *how, char *const *arguments, char *const *variables) {
    exec_passed passed = exec_pass((exec_program){ AT_FDCWD, path, false }, variables, passes());
    pid_t own;
    int status;
    if (!pid) pid = &own;
    status = real.posix_spawn ? real.posix_spawn(pid, path, actions, how, arguments, passed.variables) : ENOSYS;
    if (!status) exec_report(&passed, *pid);
    exec_end(&passed);
    return status;
}
EXPORT int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
                        const posix_spawnattr_t *how, char *const *arguments, char *const *variables) {
    exec_passed passed = exec_pass((exec_program){ AT_FDCWD, file, true }, variables, passes());
    pid_t own;
    int status;
    if (!pid) pid = &own;
    status = real.posix_spawnp ? real.posix_spawnp(pid, file, actions, how, arguments, passed.variables) : ENOSYS;
    if (!status) exec_report(&passed, *pid);
    exec_end(&passed);
    return status;
}

/* The arguments of execl and similar calls, as an array on the stack. Arguments behind their end stay in `list`. */
#define LISTED(first)                                                                   \
    va_list list, counted;                                                              \
    size_t count = 0;                                                                   \
    va_start(counted, first);                                                           \
    while (count++, va_arg(counted, char *)) {}                                         \
    va_end(counted);                                                                    \
    char *arguments[count + 1];                                                         \
    arguments[0] = (char *)(uintptr_t)first;                                            \
    va_start(list, first);                                                              \
    for (size_t i = 1; i <= count; i++) arguments[i] = va_arg(list, char *)

EXPORT int execl(const char *path, const char *first, ...) {
    LISTED(first);
    va_end(list);
    return execve(path, arguments, environ);
}
EXPORT int execlp(const char *file, const char *first, ...) {
    LISTED(first);
    va_end(list);
    return execvpe(file, arguments, environ);
}
EXPORT int execle(const char *path, const char *first, ...) {
    LISTED(first);
    char **variables = va_arg(list, char **);
    va_end(list);
    return execve(path, arguments, variables);
}

#endif
