/* Loaded into tshark when its memory is measured: counts the bytes that the plugin has allocated and
 * not freed, apart from Wireshark's own.
 *
 * A call that comes from smcr.so is the plugin's, with all that containers of Wireshark and GLib
 * allocate during the call. Of Wireshark's pools count that of the file, that of the program, and
 * those that the plugin has made; the pool of a packet is emptied after the packet. What Wireshark
 * allocates in a function that the plugin calls, such as one for a conversation, is Wireshark's; so
 * are the nodes of trees, which are those of conversations.
 *
 * The environment variable SMCR_OWN names a file of 16 bytes, which is written as memory is: bytes
 * now, and at most so far.
 *
 * Functions are called as the processor's registers have it: six arguments, pointers or whole
 * numbers. This is so for x86-64 and for 64-bit ARM.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { CHAINS = 1 << 16 };

/* A piece of memory that counts. */
typedef struct piece {
    void *memory;  /* its address */
    size_t length; /* its size, bytes */
    struct piece *next;           /* with the same hash of the address; NULL: the last */
    struct piece *in_pool;        /* the next one of its pool; NULL: the last */
    struct piece **in_pool_from;  /* what points to it in the list of its pool */
} piece_t;

/* A pool of Wireshark's that counts. */
typedef struct pool {
    void *pool;        /* its address; NULL: memory without a pool */
    piece_t *pieces;   /* its pieces */
    struct pool *next; /* with the same hash of the address; NULL: the last */
} pool_t;

static piece_t *chains[CHAINS]; /* all pieces, by the hash of the address */
static pool_t *pools[CHAINS];   /* all pools, likewise */
static pool_t no_pool;          /* memory without a pool */
static uint64_t bytes[2];            /* now, and at most so far */
static uint64_t *counters = bytes;   /* the same in the file of SMCR_OWN */
static const char *begin, *end;      /* where smcr.so is in memory; NULL: not loaded yet */
static bool is_counting;             /* GLib allocates for the plugin */

void *__libc_malloc(size_t length);
void *__libc_calloc(size_t many, size_t length);
void *__libc_realloc(void *memory, size_t length);
void __libc_free(void *memory);

/* ---- what counts ---- */

/* Whether the code at this address is the plugin's. */
static bool
is_plugin(const void *code)
{
    const char *at = code;
    Dl_info info;

    if (!end && dladdr(code, &info) && info.dli_fname && strstr(info.dli_fname, "smcr.so")) {
        begin = info.dli_fbase;
        end = begin + (16 << 20); /* longer than the plugin; nothing else allocates there */
    }
    return at >= begin && at < end;
}

static size_t
hash(const void *address)
{
    return ((uintptr_t)address >> 4) * 0x9e3779b97f4a7c15ULL >> 48;
}

/* Returns what points to the piece; to NULL if the memory does not count. */
static piece_t **
find(const void *memory)
{
    piece_t **piece = &chains[hash(memory)];

    while (*piece && (*piece)->memory != memory)
        piece = &(*piece)->next;
    return piece;
}

/* Returns what points to the pool; to NULL if it does not count. */
static pool_t **
find_pool(const void *pool)
{
    pool_t **found = &pools[hash(pool)];

    while (*found && (*found)->pool != pool)
        found = &(*found)->next;
    return found;
}

static void
forget(const void *memory)
{
    piece_t **found = find(memory), *piece = *found;

    if (!piece)
        return;
    counters[0] -= piece->length;
    *found = piece->next;
    *piece->in_pool_from = piece->in_pool;
    if (piece->in_pool)
        piece->in_pool->in_pool_from = piece->in_pool_from;
    __libc_free(piece);
}

static void
keep(void *memory, size_t length, pool_t *pool)
{
    piece_t *piece = memory ? __libc_malloc(sizeof *piece) : NULL;

    if (!piece)
        return;
    forget(memory);
    *piece = (piece_t){memory, length, NULL, pool->pieces, &pool->pieces};
    *find(memory) = piece;
    if (pool->pieces)
        pool->pieces->in_pool_from = &piece->in_pool;
    pool->pieces = piece;
    counters[0] += length;
    if (counters[0] > counters[1])
        counters[1] = counters[0];
}

/* Returns the pool, if it counts; else NULL. */
static pool_t *
counted(const void *pool)
{
    return pool ? *find_pool(pool) : &no_pool;
}

static void
count_pool(void *pool)
{
    pool_t **place = find_pool(pool);

    if (*place)
        return;
    *place = __libc_calloc(1, sizeof **place);
    if (!*place)
        abort();
    (*place)->pool = pool;
}

/* Forgets all pieces of a pool. */
static void
empty(const void *pool)
{
    pool_t *found = pool ? counted(pool) : NULL;

    while (found && found->pieces)
        forget(found->pieces->memory);
}

__attribute__((constructor)) static void
open_counters(void)
{
    const char *name = getenv("SMCR_OWN");
    int file = name ? open(name, O_RDWR) : -1;

    if (file < 0)
        return;
    void *shared = mmap(NULL, sizeof bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (shared != MAP_FAILED)
        counters = shared;
    close(file);
}

/* ---- memory of the C library, and of GLib ---- */

void *
malloc(size_t length)
{
    void *memory = __libc_malloc(length);

    if (is_counting)
        keep(memory, length, &no_pool);
    return memory;
}

void *
calloc(size_t many, size_t length)
{
    void *memory = __libc_calloc(many, length);

    if (is_counting)
        keep(memory, many * length, &no_pool);
    return memory;
}

void *
realloc(void *memory, size_t length)
{
    bool was_counted = memory && *find(memory);

    forget(memory);
    void *moved = __libc_realloc(memory, length);
    if (is_counting || was_counted)
        keep(moved, length, &no_pool);
    return moved;
}

void
free(void *memory)
{
    forget(memory);
    __libc_free(memory);
}

/* ---- Wireshark's pools ---- */

#define REAL(name, type)                                                                           \
    static type *real;                                                                             \
    if (!real)                                                                                     \
        real = (type *)dlsym(RTLD_NEXT, name)

typedef void *allocate_t(void *pool, size_t length);
typedef void *reallocate_t(void *pool, void *memory, size_t length);
typedef void release_t(void *pool, void *memory);
typedef void *scope_t(void);
typedef void of_pool_t(void *pool);
typedef void *new_pool_t(int kind);

static void *
allocate(allocate_t *real, void *pool, size_t length, bool is_own)
{
    bool was_counting = is_counting;

    is_counting = false; /* a block of the pool is for all of its users */
    void *memory = real(pool, length);
    is_counting = was_counting;
    if (is_own && counted(pool))
        keep(memory, length, counted(pool));
    return memory;
}

void *
wmem_alloc(void *pool, size_t length)
{
    REAL("wmem_alloc", allocate_t);
    return allocate(real, pool, length, is_counting || is_plugin(__builtin_return_address(0)));
}

void *
wmem_alloc0(void *pool, size_t length)
{
    REAL("wmem_alloc0", allocate_t);
    bool was_counting = is_counting;
    is_counting |= is_plugin(__builtin_return_address(0));
    void *memory = real(pool, length); /* calls wmem_alloc() */
    is_counting = was_counting;
    return memory;
}

void *
wmem_realloc(void *pool, void *memory, size_t length)
{
    REAL("wmem_realloc", reallocate_t);
    bool was_counting = is_counting, is_own = is_counting || is_plugin(__builtin_return_address(0));
    is_counting = false;
    if (pool)
        forget(memory);
    void *moved = real(pool, memory, length);
    is_counting = was_counting;
    if (is_own && counted(pool))
        keep(moved, length, counted(pool));
    return moved;
}

void
wmem_free(void *pool, void *memory)
{
    REAL("wmem_free", release_t);
    forget(memory);
    real(pool, memory);
}

void *
wmem_file_scope(void)
{
    REAL("wmem_file_scope", scope_t);
    void *pool = real();
    count_pool(pool);
    return pool;
}

void *
wmem_epan_scope(void)
{
    REAL("wmem_epan_scope", scope_t);
    void *pool = real();
    count_pool(pool);
    return pool;
}

void *
wmem_allocator_new(int kind)
{
    REAL("wmem_allocator_new", new_pool_t);
    void *pool = real(kind);
    if (is_plugin(__builtin_return_address(0)))
        count_pool(pool);
    return pool;
}

void
wmem_free_all(void *pool)
{
    REAL("wmem_free_all", of_pool_t);
    empty(pool);
    real(pool);
}

void
wmem_destroy_allocator(void *pool)
{
    REAL("wmem_destroy_allocator", of_pool_t);
    empty(pool);
    pool_t **place = find_pool(pool), *found = *place;
    if (found) {
        *place = found->next;
        __libc_free(found);
    }
    real(pool);
}

/* ---- containers ---- */

typedef void *function_t(void *, void *, void *, void *, void *, void *);

/* A function that allocates for its caller. */
#define ALLOCATES(name)                                                                            \
    void *name(void *a, void *b, void *c, void *d, void *e, void *f);                              \
    void *name(void *a, void *b, void *c, void *d, void *e, void *f)                               \
    {                                                                                              \
        REAL(#name, function_t);                                                                   \
        bool was_counting = is_counting;                                                           \
        is_counting |= is_plugin(__builtin_return_address(0));                                     \
        void *result = real(a, b, c, d, e, f);                                                     \
        is_counting = was_counting;                                                                \
        return result;                                                                             \
    }

ALLOCATES(wmem_array_append)
ALLOCATES(wmem_array_new)
ALLOCATES(wmem_list_append)
ALLOCATES(wmem_list_insert_sorted)
ALLOCATES(wmem_list_new)
ALLOCATES(wmem_list_prepend)
ALLOCATES(wmem_map_insert)
ALLOCATES(wmem_map_new)
ALLOCATES(wmem_map_new_autoreset)
ALLOCATES(wmem_memdup)
ALLOCATES(wmem_strdup)
ALLOCATES(wmem_strndup)
ALLOCATES(g_array_append_vals)
ALLOCATES(g_array_new)
ALLOCATES(g_array_set_size)
ALLOCATES(g_array_sized_new)
ALLOCATES(g_byte_array_append)
ALLOCATES(g_byte_array_sized_new)
ALLOCATES(g_hash_table_add)
ALLOCATES(g_hash_table_insert)
ALLOCATES(g_hash_table_new)
ALLOCATES(g_hash_table_new_full)
ALLOCATES(g_hash_table_replace)
ALLOCATES(g_list_insert_sorted)
ALLOCATES(g_list_prepend)
ALLOCATES(g_malloc)
ALLOCATES(g_malloc0)
ALLOCATES(g_malloc0_n)
ALLOCATES(g_malloc_n)
ALLOCATES(g_ptr_array_add)
ALLOCATES(g_ptr_array_new)
ALLOCATES(g_ptr_array_new_with_free_func)
ALLOCATES(g_queue_push_tail)
ALLOCATES(g_slice_alloc)
ALLOCATES(g_slist_prepend)
ALLOCATES(g_strdup)
ALLOCATES(g_string_new)
