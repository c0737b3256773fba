/* Loaded into tshark when callgrind counts its instructions: the same in each run
 *
 * Hash tables of GLib and of Wireshark begin with random numbers. These decide which keys share a
 * place, and so how many instructions a search takes. Here random numbers are always the same.
 * Counting begins when the capture is opened, and ends before Wireshark gives back its protocols:
 * what comes before and behind is the same for each capture, and would take most of the time.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>
#include <valgrind/callgrind.h>

typedef void *open_function(const char *, unsigned, int *, char **, int);
typedef void cleanup_function(void);

open_function wtap_open_offline;
cleanup_function epan_cleanup;

uint32_t g_random_int(void);
int32_t g_random_int_range(int32_t begin, int32_t end);
double g_random_double(void);
ssize_t getrandom(void *buffer, size_t length, unsigned flags);
int getentropy(void *buffer, size_t length);

/* Marsaglia's xorshift: never zero. */
uint32_t
g_random_int(void)
{
    static uint32_t number = 2463534242;

    number ^= number << 13;
    number ^= number >> 17;
    return number ^= number << 5;
}

int32_t
g_random_int_range(int32_t begin, int32_t end)
{
    return begin + (int32_t)(g_random_int() % (uint32_t)(end - begin));
}

double
g_random_double(void)
{
    return g_random_int() / 4294967296.0;
}

ssize_t
getrandom(void *buffer, size_t length, unsigned flags)
{
    (void)flags;
    memset(buffer, 0x5a, length);
    return (ssize_t)length;
}

int
getentropy(void *buffer, size_t length)
{
    return getrandom(buffer, length, 0) < 0;
}

void *
wtap_open_offline(const char *path, unsigned type, int *error, char **text, int random)
{
    CALLGRIND_START_INSTRUMENTATION;
    open_function *open = (open_function *)dlsym(RTLD_NEXT, "wtap_open_offline");
    return open(path, type, error, text, random);
}

void
epan_cleanup(void)
{
    CALLGRIND_STOP_INSTRUMENTATION;
    ((cleanup_function *)dlsym(RTLD_NEXT, "epan_cleanup"))();
}
