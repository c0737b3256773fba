/* Loaded into tshark or sharkd: the program starts once, each run is a copy of that process
 *
 * To register all protocols takes most of the time of a short run, and is the same in each. So
 * main() runs until they are registered, and stays there. For each request the process forks. The
 * copy calls main() again, with the arguments of the request; what is registered stays as it is.
 * started.py asks.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    LONGEST_REQUEST = 1 << 18,
    MOST_ARGUMENTS = 4096,
    STREAMS = 3, /* standard input, output and error */
};

typedef int main_function(int, char **, char **);
typedef void exit_function(void);
typedef int start_function(main_function *, int, char **, exit_function *, exit_function *,
    exit_function *, void *);

/* Some versions of Wireshark have more arguments than others: numbers or pointers, four at most. */
typedef bool init_function(intptr_t, intptr_t, intptr_t, intptr_t);

/* As long as the process lives. */
static struct {
    main_function *main;
    bool is_copy;
    int requests; /* socket */
    char request[LONGEST_REQUEST];
    char *arguments[MOST_ARGUMENTS + 1];
} program;

start_function __libc_start_main;
init_function epan_init, wtap_init;
exit_function epan_cleanup;

/* The C library calls this before main(), whose address nothing else tells. */
int
__libc_start_main(main_function *main, int argc, char **argv, exit_function *init,
    exit_function *fini, exit_function *rtld_fini, void *stack_end)
{
    program.main = main;
    start_function *start = (start_function *)dlsym(RTLD_NEXT, "__libc_start_main");
    return start(main, argc, argv, init, fini, rtld_fini, stack_end);
}

/* The next request: arguments, each closed by a zero, and the streams of the run. When nobody will
 * ask again the process ends. */
static size_t
receive(int streams[STREAMS])
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(STREAMS * sizeof(int))];
    } control;
    struct iovec text = { program.request, LONGEST_REQUEST };
    struct msghdr message = {
        .msg_iov = &text, .msg_iovlen = 1,
        .msg_control = &control, .msg_controllen = sizeof control,
    };
    ssize_t length = recvmsg(program.requests, &message, 0);
    if (length <= 0 || message.msg_flags & (MSG_TRUNC | MSG_CTRUNC))
        _exit(EXIT_SUCCESS);
    memcpy(streams, CMSG_DATA(CMSG_FIRSTHDR(&message)), STREAMS * sizeof(int));
    return (size_t)length;
}

static _Noreturn void
run_copy(size_t length, const int streams[STREAMS])
{
    const char *end = program.request + length;
    int count = 0;
    for (char *at = program.request; at < end && count < MOST_ARGUMENTS; at += strlen(at) + 1)
        program.arguments[count++] = at;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (int i = 0; i < STREAMS; i++) {
        dup2(streams[i], i);
        close(streams[i]);
    }
    close(program.requests);
    program.is_copy = true;
    exit(program.main(count, program.arguments, environ));
}

static int64_t
microseconds(struct timeval time)
{
    return time.tv_sec * INT64_C(1000000) + time.tv_usec;
}

/* Tells that the program has started, and then the status of each run and the CPU time it took. */
static _Noreturn void
serve(void)
{
    int streams[STREAMS];
    struct { int64_t status, used; } answer = { 0 };
    signal(SIGCHLD, SIG_DFL); /* which sharkd ignores */
    while (send(program.requests, &answer, sizeof answer, MSG_NOSIGNAL) == sizeof answer) {
        size_t length = receive(streams);
        pid_t copy = fork();
        if (copy == 0)
            run_copy(length, streams);
        for (int i = 0; i < STREAMS; i++)
            close(streams[i]);
        int status;
        struct rusage usage;
        if (copy < 0 || wait4(copy, &status, 0, &usage) < 0)
            break;
        answer.status = status;
        answer.used = microseconds(usage.ru_utime) + microseconds(usage.ru_stime);
    }
    _exit(EXIT_FAILURE);
}

/* The result of a function that has none means nothing. */
static bool
init(const char *name, const intptr_t arguments[4])
{
    init_function *real = (init_function *)dlsym(RTLD_NEXT, name);
    return real(arguments[0], arguments[1], arguments[2], arguments[3]);
}

bool
wtap_init(intptr_t one, intptr_t two, intptr_t three, intptr_t four)
{
    return program.is_copy || init("wtap_init", (intptr_t[]){one, two, three, four});
}

bool
epan_init(intptr_t one, intptr_t two, intptr_t three, intptr_t four)
{
    if (program.is_copy)
        return true;
    if (!init("epan_init", (intptr_t[]){one, two, three, four}))
        return false;
    program.requests = atoi(getenv("STARTED_REQUESTS"));
    unsetenv("STARTED_REQUESTS");
    unsetenv("LD_PRELOAD");
    serve();
}

/* To free all protocols takes almost half of the time of a short copy. test_started.py insists that
 * the plugin takes no part in it. Captures are freed before. */
void
epan_cleanup(void)
{
    if (!program.is_copy)
        ((exit_function *)dlsym(RTLD_NEXT, "epan_cleanup"))();
}
