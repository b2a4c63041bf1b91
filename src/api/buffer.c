/* SPDX-License-Identifier: Apache-2.0 */
/*
 * buffer.c: memory of the program as a symmetric object, so that two addresses name the same
 * memory. On a host, the pages of the object are also mapped in place of the program's pages,
 * with the same contents; on a GPU, the program's memory is also mapped where the object is.
 */
#include "api/context.h"
#include "chorus/chorusx.h"
#include "coll/cuda/gpu.h"
#include "team/table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* A registered buffer, until its registration or the job ends. */
struct ch_buffer {
    void *object, *addr;
    size_t bytes;
    bool is_named; /* collectives also find the object by the program's address */
    struct ch_buffer *next;
};

static bool overlaps(const struct ch_buffer *buffer, const char *addr, size_t bytes)
{
    const char *const taken = buffer->addr;

    return addr < taken + buffer->bytes && taken < addr + bytes;
}

static chorus_status check_new_buffer(const struct ch_context *context, const char *function,
                                      const void *addr, size_t bytes)
{
    const size_t page = context->gpu != NULL ? ch_heap_granule_bytes(context->heap)
                                             : (size_t)sysconf(_SC_PAGESIZE);

    if (addr == NULL || bytes == 0 || (uintptr_t)addr % page != 0 || bytes % page != 0)
        return CH_FAIL(CHORUS_ERR_ARG,
                       "%s: %zu bytes at %p; expected whole pages of %zu bytes, since other "
                       "data on a page would be shared with it",
                       function, bytes, addr, page);
    if (ch_heap_contains(context->heap, addr, 1) ||
        ch_teams_owner(context->teams, addr, 1) != NULL)
        return CH_FAIL(CHORUS_ERR_ARG, "%s: %p is already in the symmetric heap", function,
                       addr);
    for (const struct ch_buffer *b = context->buffers; b != NULL; b = b->next)
        if (overlaps(b, addr, bytes))
            return CH_FAIL(CHORUS_ERR_ARG,
                           "%s: %zu bytes at %p overlap the %zu bytes at %p, which were "
                           "registered before",
                           function, bytes, addr, b->bytes, b->addr);
    return CHORUS_OK;
}

/* Map the pages of the object also in place of the buffer, with the contents of the buffer.
 * They are mapped elsewhere first: mremap does not promise that what was in its target is still
 * there if it fails. */
static chorus_status map_object_over(const char *function, const struct ch_buffer *buffer)
{
    const size_t bytes = buffer->bytes;
    void *const second = mremap(buffer->object, 0, bytes, MREMAP_MAYMOVE);

    memcpy(buffer->object, buffer->addr, bytes);
    if (second != MAP_FAILED &&
        mremap(second, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, buffer->addr) != MAP_FAILED)
        return CHORUS_OK;
    if (second != MAP_FAILED) (void)munmap(second, bytes);
    return CH_FAIL(CHORUS_ERR_SYSTEM, "%s: cannot map %zu bytes at %p a second time: %s",
                   function, bytes, buffer->addr, strerror(errno));
}

/* Replace the object's pages at the buffer's address by private memory with the same contents.
 * If there is no memory for that, the pages remain. */
static void map_private(const struct ch_buffer *buffer)
{
    void *const copy =
        mmap(NULL, buffer->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (copy == MAP_FAILED) return;
    memcpy(copy, buffer->addr, buffer->bytes);
    (void)mremap(copy, buffer->bytes, buffer->bytes, MREMAP_MAYMOVE | MREMAP_FIXED,
                 buffer->addr);
}

/* Return the object to the heap, so that only the program's own memory is left. */
static void end_registration(const struct ch_context *context, const struct ch_buffer *buffer)
{
    if (context->gpu == NULL) {
        map_private(buffer);
        chorus_free(buffer->object);
        return;
    }
    ch_heap_disown(context->heap, buffer->object);
}

/* Make the buffer's memory a symmetric object, buffer->object. Collective. Every PE sends its
 * own status, so that all PEs continue or all fail. */
static chorus_status make_object(struct ch_context *context, const char *function,
                                 struct ch_buffer *buffer)
{
    struct ch_vote vote = {.step = function};
    chorus_status status;

    vote.mine = check_new_buffer(context, function, buffer->addr, buffer->bytes);
    CH_TRY(ch_boot_vote(context->boot, &vote, NULL));
    if (context->gpu != NULL)
        return ch_error_prefix_if_failed(
            function,
            ch_heap_adopt(context->heap, buffer->addr, buffer->bytes, &buffer->object));
    buffer->object = chorus_align((size_t)sysconf(_SC_PAGESIZE), buffer->bytes);
    if (buffer->object == NULL) return CHORUS_ERR_NOMEM;
    vote.mine = map_object_over(function, buffer);
    status = ch_boot_vote(context->boot, &vote, NULL);
    if (status == CHORUS_OK) return CHORUS_OK;
    if (vote.mine == CHORUS_OK) map_private(buffer);
    chorus_free(buffer->object);
    return status;
}

/* Make [addr, addr + bytes) the symmetric object *object_out until its registration ends.
 * is_named: collectives also find the object by addr. Collective. */
static chorus_status register_buffer(const char *function, void *addr, size_t bytes,
                                     bool is_named, void **object_out)
{
    struct ch_context *context;
    struct ch_buffer *buffer;
    chorus_status status;

    CH_TRY(ch_context_require(function, &context));
    buffer = malloc(sizeof(*buffer));
    if (buffer == NULL)
        return CH_FAIL(CHORUS_ERR_SYSTEM, "%s: no memory for %zu bytes", function,
                       sizeof(*buffer));
    *buffer = (struct ch_buffer){NULL, addr, bytes, is_named, context->buffers};
    status = make_object(context, function, buffer);
    if (status != CHORUS_OK) {
        free(buffer);
        return status;
    }
    context->buffers = buffer;
    *object_out = buffer->object;
    return CHORUS_OK;
}

/* End the registration of a buffer. is_named: it was registered under the program's own
 * address, and `at` is that; else `at` is its symmetric object. Collective. */
static chorus_status unregister_buffer(const char *function, const void *at, bool is_named)
{
    struct ch_context *context;
    struct ch_buffer **where, *buffer;

    CH_TRY(ch_context_require(function, &context));
    where = &context->buffers;
    for (buffer = *where; buffer != NULL; where = &buffer->next, buffer = *where)
        if (buffer->is_named == is_named && (is_named ? buffer->addr : buffer->object) == at)
            break;
    if (buffer == NULL)
        return CH_FAIL(CHORUS_ERR_ARG,
                       "%s: %p is not registered, or its registration has ended", function, at);
    if (context->gpu != NULL)
        CH_TRY(ch_gpu_drain(context->gpu));     /* kernels use what peers map */
    CH_TRY(ch_context_quiet_and_sync(context)); /* data that is stored later would be lost */
    *where = buffer->next;
    end_registration(context, buffer);
    free(buffer);
    return CHORUS_OK;
}

void *chorusx_buffer_register_symmetric(void *addr, size_t bytes)
{
    void *object = NULL;

    return ch_handle_status(__func__, register_buffer(__func__, addr, bytes, false, &object)) ==
                   CHORUS_OK
               ? object
               : NULL;
}

int chorusx_buffer_unregister_symmetric(void *object)
{
    return ch_handle_status(__func__, unregister_buffer(__func__, object, false));
}

int chorusx_buffer_register(void *addr, size_t bytes)
{
    void *object;

    return ch_handle_status(__func__, register_buffer(__func__, addr, bytes, true, &object));
}

int chorusx_buffer_unregister(void *addr)
{
    return ch_handle_status(__func__, unregister_buffer(__func__, addr, true));
}

void *ch_buffer_to_symmetric(const struct ch_context *context, void *at, size_t bytes)
{
    for (const struct ch_buffer *b = context->buffers; b != NULL; b = b->next) {
        const size_t offset = (uintptr_t)at - (uintptr_t)b->addr;

        if (b->is_named && offset < b->bytes && bytes <= b->bytes - offset)
            return (char *)b->object + offset;
    }
    return at;
}

void ch_buffers_close(struct ch_context *context)
{
    while (context->buffers != NULL) {
        struct ch_buffer *const first = context->buffers;

        context->buffers = first->next;
        if (context->gpu == NULL) map_private(first);
        free(first);
    }
}
