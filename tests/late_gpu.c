/* SPDX-License-Identifier: Apache-2.0 */
#include "late_gpu.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Longer copies are done in parts. */
enum { DEVICES = 8, STREAMS = 2, RANGES = 64, LONG = 1000 };

enum kind { COPY, STORE, CHANGE };

struct work {
    enum kind kind;
    void *dst;
    const void *src;
    size_t bytes;
    uint64_t value;
    struct ch_amo_request request;
    struct work *next;
};

struct stream {
    int ordinal;
    struct work *first, **last;
};

struct range {
    char *at, *view;
    size_t bytes;
};

struct late_gpu late_gpu = {.claims = true};

static struct stream *streams[DEVICES][STREAMS];
static struct range ranges[RANGES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint32_t n_claims;

/* ---- memory ---- */

char *late_gpu_alloc(size_t bytes)
{
    const int fd = memfd_create("late_gpu", MFD_CLOEXEC);
    struct range range = {.bytes = bytes};

    if (fd < 0 || ftruncate(fd, (off_t)bytes) != 0) abort();
    range.at = mmap(NULL, bytes, PROT_NONE, MAP_SHARED, fd, 0);
    range.view = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    (void)close(fd);
    if (range.at == MAP_FAILED || range.view == MAP_FAILED) abort();
    (void)pthread_mutex_lock(&lock);
    for (int i = 0; i < RANGES; i++)
        if (ranges[i].bytes == 0) {
            ranges[i] = range;
            break;
        }
    (void)pthread_mutex_unlock(&lock);
    return range.at;
}

static struct range *range_of(const void *memory)
{
    for (int i = 0; i < RANGES; i++)
        if ((uintptr_t)memory - (uintptr_t)ranges[i].at < ranges[i].bytes) return &ranges[i];
    return NULL;
}

void late_gpu_free(char *memory)
{
    struct range *range;

    (void)pthread_mutex_lock(&lock);
    range = range_of(memory);
    (void)munmap(range->at, range->bytes);
    (void)munmap(range->view, range->bytes);
    *range = (struct range){NULL, NULL, 0};
    (void)pthread_mutex_unlock(&lock);
}

char *late_gpu_view(const void *memory)
{
    struct range *range;
    char *view = (char *)(uintptr_t)memory;

    (void)pthread_mutex_lock(&lock);
    range = range_of(memory);
    if (range != NULL) view = range->view + ((const char *)memory - range->at);
    (void)pthread_mutex_unlock(&lock);
    return view;
}

static bool is_on_gpu(const void *ptr)
{
    if (late_gpu_view(ptr) != ptr) return true;
    return late_gpu.claims && __atomic_add_fetch(&n_claims, 1, __ATOMIC_RELAXED) % 2 == 0;
}

/* ---- streams ---- */

static void *create(int ordinal)
{
    struct stream *stream = calloc(1, sizeof(*stream));
    int i = 0;

    if (stream == NULL) abort();
    stream->ordinal = ordinal;
    stream->last = &stream->first;
    while (streams[ordinal][i] != NULL)
        i++;
    streams[ordinal][i] = stream;
    (void)__atomic_add_fetch(&late_gpu.streams, 1, __ATOMIC_RELAXED);
    return stream;
}

static void destroy(void *handle)
{
    struct stream *stream = handle;

    for (struct work *work = stream->first, *next; work != NULL; work = next) {
        next = work->next;
        free(work);
    }
    for (int i = 0; i < STREAMS; i++)
        if (streams[stream->ordinal][i] == stream) streams[stream->ordinal][i] = NULL;
    free(stream);
    (void)__atomic_sub_fetch(&late_gpu.streams, 1, __ATOMIC_RELAXED);
}

static chorus_status queue(void *handle, struct work work)
{
    struct stream *stream = handle;
    struct work *queued = malloc(sizeof(*queued));

    if (late_gpu.refuses) {
        free(queued);
        return CH_FAIL(CHORUS_ERR_SYSTEM, "the GPU takes no work, says the test");
    }
    *queued = work;
    *stream->last = queued;
    stream->last = &queued->next;
    return CHORUS_OK;
}

static chorus_status copy(void *stream, void *dst, const void *src, size_t bytes)
{
    return queue(stream, (struct work){.kind = COPY, .dst = dst, .src = src, .bytes = bytes});
}

static chorus_status store(void *stream, void *word, uint64_t value, size_t bytes)
{
    return queue(stream,
                 (struct work){.kind = STORE, .dst = word, .value = value, .bytes = bytes});
}

static chorus_status change(void *stream, const struct ch_amo_request *request)
{
    return queue(stream, (struct work){.kind = CHANGE, .request = *request});
}

static void perform(const struct work *work)
{
    const struct ch_amo_request *request = &work->request;

    switch (work->kind) {
    case COPY:
        ch_put_bytes(late_gpu_view(work->dst), late_gpu_view(work->src), work->bytes);
        break;
    case STORE:
        (void)ch_amo_apply(CH_AMO_SET, late_gpu_view(work->dst), work->bytes, work->value, 0);
        break;
    case CHANGE:
        *request->fetched = ch_amo_apply(request->op, late_gpu_view(request->word),
                                         request->bytes, request->value, request->compare);
        break;
    }
}

/* Do the first work of the stream, or of a long copy the first part. */
static void work_once(struct stream *stream)
{
    struct work *work = stream->first;
    const size_t part = work->bytes / 2;

    if (work->kind == COPY && work->bytes > LONG) {
        memcpy(late_gpu_view(work->dst), late_gpu_view(work->src), part);
        work->dst = (char *)work->dst + part;
        work->src = (const char *)work->src + part;
        work->bytes -= part;
        return;
    }
    perform(work);
    stream->first = work->next;
    if (stream->first == NULL) stream->last = &stream->first;
    free(work);
}

static uint64_t draw(uint64_t *random)
{
    *random ^= *random << 13; /* xorshift64 */
    *random ^= *random >> 7;
    *random ^= *random << 17;
    return *random >> 33;
}

void late_gpu_run(int ordinal, uint64_t *random)
{
    for (int i = 0; i < STREAMS; i++) {
        struct stream *stream = streams[ordinal][i];

        while (stream != NULL && stream->first != NULL && !late_gpu.breaks &&
               draw(random) % 3 != 0)
            work_once(stream);
    }
}

/* Who asks for failures lets the stream work, too: no other thread does in the meantime. */
static chorus_status check(void *handle)
{
    struct stream *stream = handle;

    if (late_gpu.breaks) return CH_FAIL(CHORUS_ERR_SYSTEM, "the GPU has failed, says the test");
    if (stream->first != NULL) work_once(stream);
    return CHORUS_OK;
}

__attribute__((constructor)) static void start(void)
{
    static const struct fake_streams late = {create, destroy, check,    copy,
                                             store,  change,  is_on_gpu};

    fake_streams = &late;
}
