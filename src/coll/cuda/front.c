/* SPDX-License-Identifier: Apache-2.0 */
#include "coll/cuda/front.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Streams that a wait is known to hold up; of one that holds up more, it holds up any. */
enum { STREAMS = 4 };

struct entry {
    struct ch_front_wait wait;
    uint64_t streams[STREAMS]; /* 0: no more */
    bool is_for_any;
};

struct ch_front {
    pthread_mutex_t mutex;
    uint64_t next;                        /* the number of the next wait */
    uint32_t n;                           /* atomic, as it is first read without the mutex */
    struct entry entries[CH_FRONT_WAITS]; /* in the order of their numbers */
};

chorus_status ch_front_open(struct ch_front **front_out)
{
    struct ch_front *front = calloc(1, sizeof(*front));

    if (front == NULL) return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for the waits on streams");
    (void)pthread_mutex_init(&front->mutex, NULL);
    *front_out = front;
    return CHORUS_OK;
}

void ch_front_close(struct ch_front *front)
{
    if (front == NULL) return;
    (void)pthread_mutex_destroy(&front->mutex);
    free(front);
}

static bool is_empty(const struct ch_front *front)
{
    return __atomic_load_n(&front->n, __ATOMIC_ACQUIRE) == 0;
}

static void set_n(struct ch_front *front, uint32_t n)
{
    __atomic_store_n(&front->n, n, __ATOMIC_RELEASE);
}

static bool holds_up(const struct entry *entry, uint64_t stream)
{
    if (entry->is_for_any) return true;
    for (int i = 0; i < STREAMS; i++)
        if (entry->streams[i] == stream) return true;
    return false;
}

static void hold_up(struct entry *entry, uint64_t stream)
{
    for (int i = 0; i < STREAMS; i++)
        if (entry->streams[i] == 0) {
            entry->streams[i] = stream;
            return;
        }
    entry->is_for_any = true;
}

void ch_front_add(struct ch_front *front, uint64_t stream, const struct ch_front_wait *wait)
{
    struct entry *entry;

    (void)pthread_mutex_lock(&front->mutex);
    if (front->n == CH_FRONT_WAITS) {
        memmove(&front->entries[0], &front->entries[1],
                (CH_FRONT_WAITS - 1) * sizeof(front->entries[0]));
        set_n(front, CH_FRONT_WAITS - 1);
    }
    entry = &front->entries[front->n];
    *entry = (struct entry){*wait, {stream}, wait->is_captured};
    entry->wait.number = front->next++;
    set_n(front, front->n + 1);
    (void)pthread_mutex_unlock(&front->mutex);
}

void ch_front_follow(struct ch_front *front, uint64_t stream, uint64_t earlier)
{
    if (is_empty(front)) return;
    (void)pthread_mutex_lock(&front->mutex);
    for (uint32_t i = 0; i < front->n; i++) {
        struct entry *entry = &front->entries[i];

        if (holds_up(entry, earlier) && !holds_up(entry, stream)) hold_up(entry, stream);
    }
    (void)pthread_mutex_unlock(&front->mutex);
}

void ch_front_look(struct ch_front *front, uint64_t stream, struct ch_front_view *view_out)
{
    view_out->n = 0;
    if (is_empty(front)) return;
    (void)pthread_mutex_lock(&front->mutex);
    for (uint32_t i = 0; i < front->n; i++)
        if (holds_up(&front->entries[i], stream))
            view_out->waits[view_out->n++] = front->entries[i].wait;
    (void)pthread_mutex_unlock(&front->mutex);
}

/* Both are in the order of the numbers. */
void ch_front_forget(struct ch_front *front, const struct ch_front_view *view)
{
    uint32_t kept = 0, at = 0;

    if (view->n == 0) return;
    (void)pthread_mutex_lock(&front->mutex);
    for (uint32_t i = 0; i < front->n; i++) {
        const struct ch_front_wait *wait = &front->entries[i].wait;

        while (at < view->n && view->waits[at].number < wait->number)
            at++;
        if (wait->is_captured || at == view->n || view->waits[at].number != wait->number)
            front->entries[kept++] = front->entries[i];
    }
    set_n(front, kept);
    (void)pthread_mutex_unlock(&front->mutex);
}

uint64_t ch_front_now(struct ch_front *front)
{
    uint64_t now;

    (void)pthread_mutex_lock(&front->mutex);
    now = front->next;
    (void)pthread_mutex_unlock(&front->mutex);
    return now;
}

void ch_front_forget_before(struct ch_front *front, uint64_t number)
{
    uint32_t kept = 0;

    (void)pthread_mutex_lock(&front->mutex);
    for (uint32_t i = 0; i < front->n; i++) {
        const struct ch_front_wait *wait = &front->entries[i].wait;

        if (wait->is_captured || wait->number >= number)
            front->entries[kept++] = front->entries[i];
    }
    set_n(front, kept);
    (void)pthread_mutex_unlock(&front->mutex);
}
