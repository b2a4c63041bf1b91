/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chorusrun_where.c: what PEs are doing, from the records of their calls (base/record.h).
 *
 * A record is at the start of the memory that its PE shares. PEs pass the descriptor of that
 * memory through this process when they exchange them, and this process then maps the record,
 * so that it can be read after the PE has ended.
 */
#include "chorusrun.h"

#include "base/clock.h"
#include "base/record.h"
#include "heap/segment.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Number of PEs that are reported in a line each; among more, a reader would hardly find
 * those that are missing. */
enum { LINES_MAX = 64 };

enum { COPIES_MAX = 10 }; /* of the record of a PE that makes calls meanwhile */

void where_watch(struct pe *pe, int fd)
{
    struct stat file;
    char *head;

    if (pe->record != NULL || fstat(fd, &file) != 0 || (size_t)file.st_size < CH_HEAD_BYTES)
        return;
    head = mmap(NULL, CH_HEAD_BYTES, PROT_READ, MAP_SHARED, fd, 0);
    if (head == MAP_FAILED) return;
    if (((struct ch_record *)(void *)(head + CH_DOOR_BYTES))->magic == CH_RECORD_MAGIC)
        pe->record = (struct ch_record *)(void *)(head + CH_DOOR_BYTES);
    else
        (void)munmap(head, CH_HEAD_BYTES);
}

void where_forget(struct pe *pe)
{
    if (pe->record == NULL) return;
    (void)munmap((char *)(uintptr_t)pe->record - CH_DOOR_BYTES, CH_HEAD_BYTES);
    pe->record = NULL;
}

enum { TEXT_BYTES = 2 * CH_DOING_TEXT_BYTES + 32 };

static void describe(const struct pe *pe, char text[TEXT_BYTES])
{
    char doing[2 * CH_DOING_TEXT_BYTES] = "has made no call since it joined the job";

    if (pe->record != NULL)
        ch_record_text(pe->record, doing);
    else if (!pe->has_joined)
        (void)snprintf(doing, sizeof(doing), "has not joined the job (init)");
    else if (pe->mail.is_waiting)
        (void)snprintf(doing, sizeof(doing), "waits in init for the other PEs");
    (void)snprintf(text, TEXT_BYTES, "%s%s", pe->has_left ? "has left the job" : doing,
                   pe->has_left || pe->is_alive ? "" : "; it has ended");
}

/* The front has been sent what a failed PE did. */
static void say_one(struct job *job, struct pe *pe)
{
    char text[TEXT_BYTES];

    if (pe->did != NULL) return;
    describe(pe, text);
    job_hear(job, pe, &(struct news){NEWS_DOING, 0, text});
}

void where_say_last(struct job *job, struct pe *pe)
{
    char text[TEXT_BYTES];

    if (job->agent == NULL || job->is_ending || pe->has_left || !pe->has_joined) return;
    describe(pe, text);
    job_hear(job, pe, &(struct news){NEWS_DID, 0, text});
}

void where_say(struct job *job)
{
    uint32_t n_joined = 0;

    for (uint32_t i = 0; i < job->n_started; i++)
        if (job->pes[i].has_joined) n_joined++;
    if (n_joined == 0) return;
    for (uint32_t i = 0; i < job->n_started && i < LINES_MAX; i++)
        say_one(job, &job->pes[i]);
    if (job->n_started > LINES_MAX && job->agent == NULL)
        say(job, "  and %u more PEs; --record keeps the calls of all",
            job->n_started - LINES_MAX);
}

bool where_can_be(const char *bytes, size_t n_bytes)
{
    struct ch_record head;

    if (n_bytes != sizeof(head)) return false;
    memcpy(&head, bytes, sizeof(head));
    return head.magic == CH_RECORD_MAGIC && head.kept_ns != 0;
}

void where_take(struct pe *pe, const char *bytes)
{
    struct ch_record *record = pe->record == NULL ? malloc(sizeof(*record)) : NULL;

    if (record == NULL) return;
    memcpy(record, bytes, sizeof(*record));
    pe->record = record;
}

void where_free(struct pe *pe)
{
    if (pe->host != NULL) free((void *)(uintptr_t)pe->record);
}

/* The calls are counted after the copy was made, so that readers discard entries that changed
 * meanwhile. If those are many, because this process lost its core, it is made again. */
static void copy_record(struct ch_record *copy, const struct ch_record *record)
{
    uint64_t before;
    int tries = 0;

    do {
        before = __atomic_load_n(&record->n, __ATOMIC_ACQUIRE);
        *copy = *record;
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        copy->n = __atomic_load_n(&record->n, __ATOMIC_RELAXED);
    } while (copy->n - before > CH_RECORD_ENTRIES / 2 && ++tries < COPIES_MAX);
}

/* With the moment of the copy, unless it is one already. */
static struct ch_record copy_of(struct job *job, const struct ch_record *record)
{
    struct ch_record copy;

    copy_record(&copy, record);
    if (job->kept.ns == 0) job->kept = (struct moment){ch_clock_ns(), ch_clock_ticks()};
    if (copy.kept_ns != 0) return copy;
    copy.kept_ns = job->kept.ns;
    copy.kept_ticks = job->kept.ticks;
    return copy;
}

void where_send(struct job *job, const struct pe *pe)
{
    if (pe->record == NULL) return;
    const struct ch_record copy = copy_of(job, pe->record);
    agent_record(job, pe, &copy);
}

static bool write_record(int fd, const struct ch_record *record)
{
    size_t done = 0;

    while (done < sizeof(*record)) {
        const ssize_t n = write(fd, (const char *)record + done, sizeof(*record) - done);

        if (n > 0)
            done += (size_t)n;
        else if (n < 0 && errno != EINTR)
            return false;
    }
    return true;
}

static uint32_t count_records(const struct job *job)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < job->n_started; i++)
        n += job->pes[i].record != NULL;
    return n;
}

void where_keep(struct job *job)
{
    const char *path = job->args->record;
    const uint32_t n = count_records(job);
    bool is_whole = true;
    int fd;

    if (path == NULL) return;
    if (n == 0) {
        say(job, "no PE has a record of its calls, so %s is not written", path);
        return;
    }
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0) {
        say(job, "cannot keep the record in %s: %s", path, strerror(errno));
        return;
    }
    for (uint32_t i = 0; i < job->n_started && is_whole; i++) {
        if (job->pes[i].record == NULL) continue;
        const struct ch_record copy = copy_of(job, job->pes[i].record);
        is_whole = write_record(fd, &copy);
    }
    if (close(fd) != 0 || !is_whole)
        say(job, "cannot keep the record in %s: %s", path, strerror(errno));
    else
        say(job, "%s has the last calls of %u PEs; read it with chorus-info record %s", path, n,
            path);
}
