/* SPDX-License-Identifier: Apache-2.0 */
/*
 * buffer.c: memory of the program as a symmetric object. The pages of the object are also
 * mapped in place of the program's pages, with the same contents, so that two addresses name
 * the same memory.
 */
#include "api/context.h"
#include "chorus/chorusx.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* A buffer that was taken, until it is given back or the job ends. */
struct ch_buffer {
    void *object, *addr;
    size_t bytes;
    struct ch_buffer *next;
};

static chorus_status check(const struct ch_context *context, const void *addr, size_t bytes)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);

    if (context->gpu != NULL)
        return CH_FAIL(CHORUS_ERR_UNSUPPORTED,
                       "chorusx_buffer_register_symmetric: the heap is on GPUs, whose memory "
                       "cannot take the place of the program's; allocate by chorus_malloc");
    if (addr == NULL || bytes == 0 || (uintptr_t)addr % page != 0 || bytes % page != 0)
        return CH_FAIL(
            CHORUS_ERR_ARG,
            "chorusx_buffer_register_symmetric: %zu bytes at %p; expected whole pages "
            "of %zu bytes",
            bytes, addr, page);
    return CHORUS_OK;
}

/* Another mapping of the object's pages where the buffer was, with what was in it. */
static chorus_status take(struct ch_buffer *buffer)
{
    memcpy(buffer->object, buffer->addr, buffer->bytes);
    if (mremap(buffer->object, 0, buffer->bytes, MREMAP_MAYMOVE | MREMAP_FIXED, buffer->addr) !=
        MAP_FAILED)
        return CHORUS_OK;
    return CH_FAIL(CHORUS_ERR_SYSTEM,
                   "chorusx_buffer_register_symmetric: the system does not map %zu bytes at %p "
                   "again: %s",
                   buffer->bytes, buffer->addr, strerror(errno));
}

/* Private memory again, with the same contents. */
static void give_back(const struct ch_buffer *buffer)
{
    void *const copy =
        mmap(NULL, buffer->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (copy == MAP_FAILED) return;
    memcpy(copy, buffer->addr, buffer->bytes);
    (void)mremap(copy, buffer->bytes, buffer->bytes, MREMAP_MAYMOVE | MREMAP_FIXED,
                 buffer->addr);
}

void *chorusx_buffer_register_symmetric(void *addr, size_t bytes)
{
    struct ch_context *context;
    struct ch_buffer *buffer;
    chorus_status status;

    if (ch_context_require(__func__, &context) != CHORUS_OK ||
        check(context, addr, bytes) != CHORUS_OK)
        return NULL;
    buffer = malloc(sizeof(*buffer));
    if (buffer == NULL) return NULL;
    *buffer = (struct ch_buffer){chorus_align((size_t)sysconf(_SC_PAGESIZE), bytes), addr,
                                 bytes, context->buffers};
    if (buffer->object == NULL) {
        free(buffer);
        return NULL;
    }
    status = take(buffer);
    ch_report(status == CHORUS_OK ? ch_context_meet(context) : status);
    context->buffers = buffer;
    return buffer->object;
}

int chorusx_buffer_unregister_symmetric(void *object)
{
    struct ch_context *context;
    struct ch_buffer **at, *buffer;

    CH_TRY(ch_context_require(__func__, &context));
    for (at = &context->buffers; *at != NULL && (*at)->object != object;)
        at = &(*at)->next;
    buffer = *at;
    if (buffer == NULL)
        return CH_FAIL(
            CHORUS_ERR_ARG,
            "%s: %p is not what chorusx_buffer_register_symmetric gave, or was given "
            "back",
            __func__, object);
    CH_TRY(ch_context_meet(context)); /* what comes later would be lost */
    *at = buffer->next;
    give_back(buffer);
    free(buffer);
    chorus_free(object);
    return CHORUS_OK;
}

void ch_buffers_close(struct ch_context *context)
{
    while (context->buffers != NULL) {
        struct ch_buffer *const first = context->buffers;

        context->buffers = first->next;
        give_back(first);
        free(first);
    }
}
