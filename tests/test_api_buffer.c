/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of the program: registered for collectives, as an allocator's blocks, or as it is. */
#include "api_pes.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static _Thread_local bool has_no_mappings; /* the next mremap of this PE fails */

/* In place of the C library's, also for the library. */
#pragma GCC visibility push(default)
void *mremap(void *old, size_t old_bytes, size_t bytes, int flags, ...)
{
    va_list more;
    void *at;

    if (has_no_mappings) {
        has_no_mappings = false;
        errno = ENOMEM;
        return MAP_FAILED;
    }
    va_start(more, flags);
    at = (flags & MREMAP_FIXED) != 0 ? va_arg(more, void *) : NULL;
    va_end(more);
    return (void *)syscall(SYS_mremap, old, old_bytes, bytes, flags, at);
}
#pragma GCC visibility pop

static size_t page_bytes(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

/* Another value on each PE and in each call. */
static int value(int call, int pe, int i)
{
    return call * 1009 + pe * 31 + i;
}

static chorusx_call reduce_of(void *dest, const void *source, size_t count, const char *algo)
{
    return (chorusx_call){.coll = CHORUS_COLL_reduce,
                          .team = CHORUS_TEAM_WORLD,
                          .dest = dest,
                          .source = source,
                          .count = count,
                          .type = CHORUS_TYPE_i32,
                          .op = CHORUS_OP_sum,
                          .algo = algo};
}

static void reduce_and_look(int call, int *dest, int *source, int count, const char *algo)
{
    const chorusx_call made = reduce_of(dest, source, (size_t)count, algo);

    for (int i = 0; i < count; i++) {
        source[i] = value(call, api_me(), i);
        dest[i] = -1;
    }
    EXPECT(chorusx_collective(&made, NULL) == CHORUS_OK);
    for (int i = 0; i < count; i++) {
        int sum = 0;

        for (int pe = 0; pe < api_n(); pe++)
            sum += value(call, pe, i);
        EXPECT(dest[i] == sum);
    }
}

/* Can this PE load from all others? Over a network nobody chooses the algorithms that do. */
static bool is_mapped(void)
{
    return chorus_team_n_pes(CHORUS_TEAM_SHARED) == api_n();
}

/* Algorithms that load from peers, or store to them, are refused before and serve afterwards.
 */
static void register__whole_pages__serve_as_symmetric_ones(void)
{
    const size_t page = page_bytes(), bytes = 4 * page;
    int *memory = aligned_alloc(page, bytes);
    int *dest = memory, *source = memory + bytes / sizeof(int) / 2;
    const chorusx_call pull = reduce_of(dest, source, 100, "one_shot_pull");
    const chorusx_call push = reduce_of(dest, source, 100, "two_shot");

    EXPECT(memory != NULL);
    memset(memory, 1, bytes);
    EXPECT_FAILS(chorusx_collective(&pull, NULL), CHORUS_ERR_UNSUPPORTED,
                 is_mapped() ? "symmetric_source" : "map");
    EXPECT(chorusx_buffer_register(memory, bytes) == CHORUS_OK);
    EXPECT(memory[5] == 0x01010101 && source[5] == 0x01010101); /* its contents are kept */
    reduce_and_look(1, dest, source, 100, is_mapped() ? "one_shot_pull" : NULL);
    reduce_and_look(2, dest, source + 1, 501, is_mapped() ? "two_shot" : NULL);
    reduce_and_look(3, dest + 3, source, 77, NULL);
    EXPECT(chorusx_buffer_unregister(memory) == CHORUS_OK);
    EXPECT(dest[3 + 76] != -1); /* kept again */
    EXPECT_FAILS(chorusx_collective(&push, NULL), CHORUS_ERR_UNSUPPORTED,
                 is_mapped() ? "symmetric_dest" : "map");
    reduce_and_look(4, dest, source, 100, NULL);
    free(memory);
}

static void register__what_cannot_be__is_refused_on_all(void)
{
    const size_t page = page_bytes();
    char *memory = aligned_alloc(page, 3 * page), *object = chorus_align(page, page);

    EXPECT(memory != NULL);
    memset(memory, 0, 3 * page);
    EXPECT_FAILS(chorusx_buffer_register(memory + 8, page), CHORUS_ERR_ARG,
                 "expected whole pages");
    EXPECT_FAILS(chorusx_buffer_register(memory, page - 1), CHORUS_ERR_ARG,
                 "expected whole pages");
    EXPECT_FAILS(chorusx_buffer_register(NULL, page), CHORUS_ERR_ARG, "expected whole pages");
    EXPECT_FAILS(chorusx_buffer_register(object, page), CHORUS_ERR_ARG,
                 "is already in the symmetric heap");
    /* One PE's mistake is everybody's failure, with its message. */
    EXPECT_FAILS(chorusx_buffer_register(memory + (api_me() == 0), page), CHORUS_ERR_ARG,
                 "expected whole pages");
    EXPECT(chorusx_buffer_register(memory, 2 * page) == CHORUS_OK);
    EXPECT_FAILS(chorusx_buffer_register(memory + page, 2 * page), CHORUS_ERR_ARG,
                 "which were registered before");
    EXPECT_FAILS(chorusx_buffer_unregister(memory + page), CHORUS_ERR_ARG, "is not registered");
    EXPECT(chorusx_buffer_unregister(memory) == CHORUS_OK);
    EXPECT_FAILS(chorusx_buffer_unregister(memory), CHORUS_ERR_ARG, "is not registered");
    chorus_free(object);
    free(memory);
}

/* As where a process has as many mappings as it may have. The memory stays as it was. */
static void register__pages_that_cannot_be_mapped_again__keeps_them(void)
{
    const size_t page = page_bytes();
    char *memory = aligned_alloc(page, page);

    EXPECT(memory != NULL);
    memset(memory, 'a' + api_me(), page);
    has_no_mappings = api_me() == api_n() - 1;
    EXPECT_FAILS(chorusx_buffer_register(memory, page), CHORUS_ERR_SYSTEM, "a second time");
    EXPECT(!has_no_mappings);
    EXPECT(memory[0] == 'a' + api_me() && memory[page - 1] == 'a' + api_me());
    memory[0] = '0';
    EXPECT(chorusx_buffer_register(memory, page) == CHORUS_OK);
    EXPECT(memory[0] == '0' && memory[page - 1] == 'a' + api_me());
    EXPECT(chorusx_buffer_unregister(memory) == CHORUS_OK);
    free(memory);
}

/* The plan of large messages goes by way of sync memory, and says so, until the memory is as
 * good as symmetric. */
static void explain_call__by_where_buffers_lie__names_another_rule(void)
{
    const size_t page = page_bytes(), bytes = 64 * page, count = bytes / sizeof(int) / 2;
    int *memory = aligned_alloc(page, bytes);
    chorusx_call call = reduce_of(memory, memory + count, count, NULL);
    chorusx_plan elsewhere, registered;

    EXPECT(memory != NULL);
    EXPECT(chorusx_explain_call(&call, &elsewhere) == CHORUS_OK);
    EXPECT(chorusx_buffer_register(memory, bytes) == CHORUS_OK);
    EXPECT(chorusx_explain_call(&call, &registered) == CHORUS_OK);
    EXPECT(chorusx_buffer_unregister(memory) == CHORUS_OK);
    EXPECT(strstr(registered.rule, "elsewhere") == NULL);
    EXPECT(api_n() == 1 || !is_mapped() || strcmp(elsewhere.rule, registered.rule) != 0);
    call.root = -1;
    call.coll = CHORUS_COLL_broadcast;
    EXPECT_FAILS(chorusx_explain_call(&call, &elsewhere), CHORUS_ERR_ARG, "root is -1");
    free(memory);
}

static void pool__blocks__are_symmetric_and_noted(void)
{
    chorusx_pool_note notes[4] = {{0}};
    int *block = chorusx_pool_malloc(64 * sizeof(int), 0, NULL);

    EXPECT(chorusx_pool_malloc(0, 0, NULL) == NULL);
    EXPECT(block != NULL);
    block[0] = -1;
    chorus_barrier_all();
    chorus_int_p(block, api_me(), api_next());
    chorus_barrier_all();
    EXPECT(block[0] == api_previous());
    chorusx_pool_free(block, 64 * sizeof(int), 0, NULL);
    chorusx_pool_free(NULL, 0, 0, NULL);
    EXPECT(chorusx_pool_take(notes, 1) == 1);
    EXPECT(notes[0].ptr == block && notes[0].bytes == 64 * sizeof(int));
    EXPECT(chorusx_pool_take(notes, 4) == 1);
    EXPECT(notes[0].ptr == block && notes[0].bytes == 0);
    EXPECT(chorusx_pool_take(notes, 4) == 0);
    for (int i = 0; i < 100; i++) /* more than there is room for at first */
        chorusx_pool_free(&block[i % 64], 1, 0, NULL);
    for (int i = 0; i < 25; i++)
        EXPECT(chorusx_pool_take(notes, 4) == 4 && notes[1].ptr == &block[(4 * i + 1) % 64]);
    chorus_free(block);
}

#define TESTS(X)                                               \
    X(register__whole_pages__serve_as_symmetric_ones)          \
    X(register__what_cannot_be__is_refused_on_all)             \
    X(register__pages_that_cannot_be_mapped_again__keeps_them) \
    X(explain_call__by_where_buffers_lie__names_another_rule)  \
    X(pool__blocks__are_symmetric_and_noted)
API_MAIN(TESTS)
