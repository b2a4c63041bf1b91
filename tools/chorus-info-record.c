/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chorus-info-record.c: prints the calls of PEs, from their records: those of a running job,
 * or of a file that chorusrun --record wrote.
 */
#include "chorus-info-record.h"

#include "base/record.h"
#include "base/text.h"
#include "boot/message.h"
#include "heap/segment.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static bool add(struct records *all, const struct ch_record *record)
{
    const struct ch_record **grown = realloc(all->of, (all->n + 1) * sizeof(*all->of));

    if (grown == NULL) return false;
    all->of = grown;
    for (uint32_t i = 0; i < all->n; i++)
        if (grown[i]->pe == record->pe) return true; /* found already */
    grown[all->n++] = record;
    return true;
}

static int by_pe(const void *a, const void *b)
{
    const struct ch_record *const *x = a, *const *y = b;

    return (*x)->pe < (*y)->pe ? -1 : (*x)->pe > (*y)->pe;
}

static void say_all(const struct records *all)
{
    char text[2 * CH_DOING_TEXT_BYTES];

    for (uint32_t i = 0; i < all->n; i++) {
        ch_record_text(all->of[i], text);
        (void)printf("PE %u (pid %llu) %s\n", all->of[i]->pe,
                     (unsigned long long)all->of[i]->pid, text);
    }
}

/* A call of one PE. Its ticks count from the moment when its record was kept, as the clocks of
 * hosts differ. */
struct event {
    struct ch_record_call called;
    uint32_t at; /* index in struct records */
};

/* Order: by team, collectives before other calls, number, PE. */
static int by_call(const void *a, const void *b)
{
    const struct event *x = a, *y = b;
    const struct ch_doing *p = &x->called.doing, *q = &y->called.doing;
    const int k = ch_doing_is_collective(p), l = ch_doing_is_collective(q);

    if (p->team != q->team) return p->team < q->team ? -1 : 1;
    if (k != l) return k - l;
    if (p->number != q->number) return p->number < q->number ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

static bool same_chain(const struct event *a, const struct event *b)
{
    return a->called.doing.team == b->called.doing.team &&
           ch_doing_is_collective(&a->called.doing) == ch_doing_is_collective(&b->called.doing);
}

/* All collective calls of all PEs; null if there is no memory. */
static struct event *collect(const struct records *all, size_t *n_out)
{
    struct event *events = malloc(((size_t)all->n * CH_RECORD_ENTRIES + 1) * sizeof(*events));

    *n_out = 0;
    for (uint32_t i = 0; events != NULL && i < all->n; i++)
        for (uint64_t k = 0; k < CH_RECORD_ENTRIES; k++) {
            const uint64_t index = all->of[i]->n - k;
            struct event *event = &events[*n_out];

            event->at = i;
            if (!ch_record_read(all->of[i], index, &event->called) ||
                ch_doing_is_alone(&event->called.doing))
                continue;
            event->called.ticks -= all->of[i]->kept_ticks;
            (*n_out)++;
        }
    if (events != NULL) qsort(events, *n_out, sizeof(*events), by_call);
    return events;
}

/* Some PEs that made calls of this chain have not begun [lo, hi), which is one call. */
static bool lacks_some(const struct event *first, const struct event *lo,
                       const struct event *hi, const struct event *end, uint64_t *last,
                       uint32_t n)
{
    uint32_t n_here = 0, n_all = 0;

    memset(last, 0, n * sizeof(*last));
    for (const struct event *e = first; e < end; e++)
        if (e->called.doing.number > last[e->at]) last[e->at] = e->called.doing.number;
    for (uint32_t i = 0; i < n; i++) {
        n_all += last[i] != 0 || lo->called.doing.team == 0; /* it contains all PEs */
        n_here += last[i] >= lo->called.doing.number;
    }
    return hi > lo && n_here < n_all;
}

static bool differ(const struct event *lo, const struct event *hi)
{
    for (const struct event *e = lo + 1; e < hi; e++)
        if (!ch_doing_agrees(&lo->called.doing, &e->called.doing)) return true;
    return false;
}

/* A call in which PEs differ. */
struct difference {
    const struct event *lo, *hi; /* PEs that made it; null: none */
    const struct event *first, *end;
};

/* Was call a made before b? Certain only for two calls of one PE. */
static bool is_before(const struct event *a, const struct event *b)
{
    return a->at == b->at ? a->called.index < b->called.index
                          : (int64_t)a->called.ticks < (int64_t)b->called.ticks;
}

/* Find the first difference in a chain of calls, which is [first, end). */
static void search(const struct event *first, const struct event *end, uint64_t *last,
                   uint32_t n, struct difference *found)
{
    for (const struct event *lo = first, *hi; lo < end; lo = hi) {
        for (hi = lo + 1; hi < end && hi->called.doing.number == lo->called.doing.number;)
            hi++;
        if (!differ(lo, hi) && !lacks_some(first, lo, hi, end, last, n)) continue;
        if (found->lo == NULL || is_before(lo, found->lo))
            *found = (struct difference){lo, hi, first, end};
        return;
    }
}

static void say_difference(const struct records *all, const struct difference *d,
                           uint64_t *last)
{
    char text[2 * CH_DOING_TEXT_BYTES];

    (void)printf("\nThe first call in which PEs differ:\n");
    for (const struct event *e = d->lo; e < d->hi; e++) {
        ch_doing_text(&e->called.doing, text);
        ch_names_replace(all->of[e->at]->names, text, sizeof(text));
        (void)printf("PE %u made %s\n", all->of[e->at]->pe, text);
    }
    if (!lacks_some(d->first, d->lo, d->hi, d->end, last, all->n)) return;
    for (uint32_t i = 0; i < all->n; i++)
        if (last[i] < d->lo->called.doing.number &&
            (last[i] != 0 || d->lo->called.doing.team == 0))
            (void)printf("PE %u has not begun it\n", all->of[i]->pe);
}

static chorus_status compare(const struct records *all)
{
    uint64_t *last = calloc(all->n + 1, sizeof(*last));
    struct difference found = {0};
    size_t n = 0;
    struct event *events = collect(all, &n);

    if (last == NULL || events == NULL) {
        free(last);
        free(events);
        return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for the calls of %u PEs", all->n);
    }
    for (size_t lo = 0, hi; lo < n; lo = hi) {
        for (hi = lo + 1; hi < n && same_chain(&events[lo], &events[hi]);)
            hi++;
        search(&events[lo], &events[hi], last, all->n, &found);
    }
    if (found.lo != NULL)
        say_difference(all, &found, last);
    else
        (void)printf("\nPEs agree in all calls that the records have.\n");
    free(events);
    free(last);
    return CHORUS_OK;
}

static const struct ch_record *record_of(const void *arg, uint32_t pe)
{
    const struct records *all = arg;

    for (uint32_t i = 0; i < all->n; i++)
        if (all->of[i]->pe == pe) return all->of[i];
    return NULL;
}

/* Number of waits for words that are described. */
enum { WAITS_MAX = 16 };

/* The waits for words of PEs that no line has named yet. */
static void say_waits(const struct records *all)
{
    const struct ch_records records = {record_of, all, all->n > 0 ? all->of[0]->n_pes : 0};
    bool *is_told = calloc(records.n + 1, sizeof(*is_told));
    struct ch_chain chain;
    int n = 0;

    for (uint32_t i = 0; is_told != NULL && i < all->n && n < WAITS_MAX; i++) {
        const uint32_t pe = all->of[i]->pe;

        /* Below a process there may be PEs of several jobs. */
        if (pe >= records.n || is_told[pe] || !ch_chain_find(&records, pe, &chain)) continue;
        (void)printf("%s%s\n", n++ == 0 ? "\nWaits for words:\n" : "", chain.text);
        for (uint32_t k = 0; k < chain.n; k++)
            is_told[chain.pes[k]] = true;
    }
    free(is_told);
}

chorus_status records_sum_up(const struct records *all)
{
    say_all(all);
    say_waits(all);
    return compare(all);
}

/* The records in the memory of a PE. Null: there are none. */
static const char *map(int fd, size_t bytes)
{
    char *const start = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);

    return start == MAP_FAILED ? NULL : start;
}

void records_free(struct records *all)
{
    free(all->of);
    free(all->bytes);
    *all = (struct records){NULL, 0, NULL};
}

/* The record that begins at `at`; its names are terminated, as readers expect. */
static chorus_status take_one(const char *name, char *at, size_t bytes, struct records *all)
{
    static const char expected[] = "expected a file of chorusrun --record, of this version";
    struct ch_record *record = (struct ch_record *)(void *)at;

    if (bytes < sizeof(record->magic) || record->magic != CH_RECORD_MAGIC)
        return CH_FAIL(CHORUS_ERR_ARG, "%s has no record of calls%s; %s", name,
                       all->n > 0 ? " where the next one should begin" : "", expected);
    if (bytes < sizeof(*record))
        return CH_FAIL(CHORUS_ERR_ARG,
                       "%s ends within the record of a PE, after %zu of %zu bytes; %s", name,
                       bytes, sizeof(*record), expected);
    if (record->n_pes > CH_WIRE_PES_MAX || record->pe >= record->n_pes)
        return CH_FAIL(CHORUS_ERR_ARG, "%s has a record of PE %u in a job of %u PEs; %s", name,
                       record->pe, record->n_pes, expected);
    if (all->n > 0 && all->of[0]->n_pes != record->n_pes)
        return CH_FAIL(CHORUS_ERR_ARG, "%s has records of jobs of %u and of %u PEs; %s", name,
                       all->of[0]->n_pes, record->n_pes, expected);
    for (uint32_t i = 0; i < all->n; i++)
        if (all->of[i]->pe == record->pe)
            return CH_FAIL(CHORUS_ERR_ARG, "%s has two records of PE %u; %s", name, record->pe,
                           expected);
    record->names[sizeof(record->names) - 1] = '\0';
    if (add(all, record)) return CHORUS_OK;
    return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for the records of %s", name);
}

chorus_status records_take(const char *name, void *bytes, size_t n_bytes, struct records *out)
{
    chorus_status status = CHORUS_OK;
    size_t at = 0;

    *out = (struct records){NULL, 0, bytes};
    do {
        status = take_one(name, (char *)bytes + at, n_bytes - at, out);
        at += sizeof(struct ch_record);
    } while (status == CHORUS_OK && at < n_bytes);
    if (status != CHORUS_OK)
        records_free(out);
    else
        qsort(out->of, out->n, sizeof(out->of[0]), by_pe);
    return status;
}

/* The file is read and not mapped: it may become shorter meanwhile. */
static chorus_status read_file(const char *name, struct records *out)
{
    const size_t most = CH_WIRE_PES_MAX * sizeof(struct ch_record);
    FILE *file = fopen(name, "re");
    struct stat info = {0};
    size_t n_bytes = 0;
    char *bytes;

    if (file == NULL || fstat(fileno(file), &info) != 0) {
        const int error = errno;

        if (file != NULL) (void)fclose(file);
        return CH_FAIL(CHORUS_ERR_ARG,
                       "cannot read %s: %s; expected what chorusrun --record wrote when a job "
                       "failed",
                       name, strerror(error));
    }
    n_bytes = info.st_size < 0 || (size_t)info.st_size > most ? most : (size_t)info.st_size;
    bytes =
        aligned_alloc(sizeof(struct ch_entry),
                      most < n_bytes ? most
                                     : (n_bytes + sizeof(struct ch_entry)) /
                                           sizeof(struct ch_entry) * sizeof(struct ch_entry));
    if (bytes != NULL) n_bytes = fread(bytes, 1, n_bytes, file);
    (void)fclose(file);
    if (bytes == NULL)
        return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for the %zu bytes of %s", n_bytes, name);
    return records_take(name, bytes, n_bytes, out);
}

/* The PE of one number of a --pe. */
static chorus_status show_one(const struct info_args *args, const struct records *all,
                              const char *text, bool *is_shown)
{
    uint64_t pe = 0;

    if (!ch_number_whole(text, 0, UINT32_MAX, &pe))
        return CH_FAIL(CHORUS_ERR_ARG, "--pe is \"%s\"; expected PEs such as 0 or 0,2", text);
    for (uint32_t i = 0; i < all->n; i++)
        if (all->of[i]->pe == pe) {
            is_shown[i] = true;
            return CHORUS_OK;
        }
    return CH_FAIL(CHORUS_ERR_ARG,
                   "--pe is %s, but %s has no record of PE %s; it has %u of %u PEs", text,
                   args->operand, text, all->n, all->of[0]->n_pes);
}

/* The PEs of all --pe options. */
static chorus_status show_pes(const struct info_args *args, const struct records *all,
                              bool *is_shown)
{
    for (uint32_t i = 0; i < args->n_shown; i++) {
        char *list = strdup(args->shown[i]), *rest = list, *text;
        chorus_status status = CHORUS_OK;

        if (list == NULL) return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for --pe");
        while (status == CHORUS_OK && (text = strsep(&rest, ",")) != NULL)
            status = show_one(args, all, text, is_shown);
        free(list);
        CH_TRY(status);
    }
    return CHORUS_OK;
}

static chorus_status write_trace(const char *name, const struct records *all,
                                 const struct calls_shown *shown)
{
    FILE *out = fopen(name, "we");
    bool is_whole;

    if (out == NULL)
        return CH_FAIL(CHORUS_ERR_ARG, "cannot write %s: %s", name, strerror(errno));
    calls_trace(out, all, shown);
    is_whole = ferror(out) == 0;
    if (fclose(out) != 0 || !is_whole)
        return CH_FAIL(CHORUS_ERR_SYSTEM, "cannot write %s: %s", name, strerror(errno));
    return CHORUS_OK;
}

static chorus_status print(const struct info_args *args, const struct records *all,
                           const struct calls_shown *shown)
{
    if (args->trace != NULL) CH_TRY(write_trace(args->trace, all, shown));
    if (args->is_json) {
        calls_json(stdout, all, shown);
        return CHORUS_OK;
    }
    if (!args->is_summary && args->trace == NULL) calls_list(stdout, all, shown);
    return records_sum_up(all);
}

chorus_status info_record(const struct info_args *args)
{
    struct calls_shown shown = {NULL, 0};
    struct records all;
    chorus_status status;
    bool *is_shown;

    if (args->last != NULL && !ch_number_whole(args->last, 1, UINT32_MAX, &shown.last))
        return CH_FAIL(CHORUS_ERR_ARG, "--last is \"%s\"; expected a number of calls from 1",
                       args->last);
    CH_TRY(read_file(args->operand, &all));
    is_shown = calloc(all.n, sizeof(*is_shown));
    status = is_shown != NULL ? show_pes(args, &all, is_shown)
                              : CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for %u PEs", all.n);
    if (args->n_shown > 0) shown.is_shown = is_shown;
    if (status == CHORUS_OK) status = print(args, &all, &shown);
    free(is_shown);
    records_free(&all);
    return status;
}

/* The record in the memory behind this descriptor of a process, if it is that of a PE. */
static const struct ch_record *record_in(const char *path)
{
    const struct ch_record *record = NULL;
    char target[64] = "";
    struct stat file;
    const char *head;
    int fd;

    if (readlink(path, target, sizeof(target) - 1) < 0 ||
        strncmp(target, "/memfd:chorus", strlen("/memfd:chorus")) != 0)
        return NULL;
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return NULL;
    if (fstat(fd, &file) == 0 && (size_t)file.st_size >= CH_HEAD_BYTES &&
        (head = map(fd, CH_HEAD_BYTES)) != NULL)
        record = (const struct ch_record *)(const void *)(head + CH_DOOR_BYTES);
    (void)close(fd);
    return record != NULL && record->magic == CH_RECORD_MAGIC ? record : NULL;
}

static void look_at(struct records *all, long pid)
{
    char path[PATH_MAX];
    const struct dirent *entry;
    DIR *folder;

    (void)snprintf(path, sizeof(path), "/proc/%ld/fd", pid);
    folder = opendir(path);
    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        const struct ch_record *record;

        (void)snprintf(path, sizeof(path), "/proc/%ld/fd/%s", pid, entry->d_name);
        record = record_in(path);
        if (record != NULL && !add(all, record)) break;
    }
    if (folder != NULL) (void)closedir(folder);
}

/* The process and all processes that it started. */
static void look_below(struct records *all, long pid, int depth)
{
    enum { DEPTH_MAX = 8 }; /* wrappers of PEs are included */
    char path[64];
    FILE *children;
    long child;

    look_at(all, pid);
    (void)snprintf(path, sizeof(path), "/proc/%ld/task/%ld/children", pid, pid);
    children = depth < DEPTH_MAX ? fopen(path, "re") : NULL;
    while (children != NULL && fscanf(children, "%ld", &child) == 1)
        look_below(all, child, depth + 1);
    if (children != NULL) (void)fclose(children);
}

chorus_status info_job(const struct info_args *args)
{
    struct records all = {NULL, 0, NULL};
    uint64_t pid = 0;
    chorus_status status;

    if (!ch_number_whole(args->operand, 1, INT_MAX, &pid))
        return CH_FAIL(CHORUS_ERR_ARG,
                       "\"%s\" is no process; expected the number of a chorusrun, or of a PE",
                       args->operand);
    look_below(&all, (long)pid, 0);
    if (all.n == 0)
        return CH_FAIL(CHORUS_ERR_ARG,
                       "process %s has no PEs that this user may look at; expected a chorusrun "
                       "whose PEs are past init, or a PE",
                       args->operand);
    qsort(all.of, all.n, sizeof(all.of[0]), by_pe);
    if (all.n < all.of[0]->n_pes)
        (void)printf("%u of %u PEs; give the number of chorusrun for the others on this host\n",
                     all.n, all.of[0]->n_pes);
    status = records_sum_up(&all);
    records_free(&all);
    return status;
}
