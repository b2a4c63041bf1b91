/* SPDX-License-Identifier: Apache-2.0 */
/*
 * coll_run.c: every algorithm against the oracle, on whatever PEs this program is given:
 * processes under chorusrun, or threads: `coll_run threads N`. `coll_run large` makes fewer
 * calls, of messages to 4 MB and of up to 8 CTAs, or 64 on a GPU, as far as CHORUS_CTAS goes.
 * `coll_run elsewhere [N]` makes calls with buffers outside the symmetric heap: dest, source,
 * or both.
 *
 * Each call has fresh data, a poisoned dest with guards around it, and is checked before the
 * next; between calls there is no barrier, and a source is rewritten as soon as its call has
 * returned. Each PE computes its references by itself: with a shared one, PEs would wait for
 * each other between calls, and ThreadSanitizer would take that for an order between their
 * accesses.
 */
#include "base/collective.h"
#include "base/option.h"
#include "chorus/chorusx.h"
#include "coll/algorithm.h"
#include "ref/ref_coll.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Past one chunk of the largest FIFO, for 16-byte elements. */
#define COUNT_MAX ((size_t)1500)
#define COUNT_LARGE ((size_t)1000003)     /* of 4 bytes, on GPUs and with CHORUS_TEST_FULL */
#define COUNT_LARGE_PART ((size_t)300007) /* the same elsewhere */
#define GUARD_BYTES ((size_t)64)

/* A team and this PE's buffers for it; a buffer has room for a guard, an offset, n blocks. */
struct site {
    chorus_team_t team;
    uint32_t me, n;
    char *dest, *source;           /* symmetric */
    char *dest_here, *source_here; /* the same for the CPU: on a host, the same memory */
    unsigned char *own, *want;     /* private: this PE's source, its dest as it should be */
    void **sources;                /* [n] private, what this PE gets of each PE's source */
    uint64_t calls;                /* so far: the seed of the next */
    chorus_stream_t stream;        /* or null */
    const void *symmetric;         /* an object in the heap */
    size_t *lists[4]; /* [n] each: counts and offsets of the blocks of an alltoallv */
};

static bool is_large; /* set by main alone */

enum place { APART, SAME, OWN_BLOCK };

static size_t buffer_bytes(uint32_t n)
{
    return 2 * GUARD_BYTES + 16 + n * (is_large ? COUNT_LARGE * 4 : COUNT_MAX * 16);
}

static void fail(const struct site *s, const chorusx_call *call, const char *what, long at)
{
    fprintf(stderr,
            "PE %u of %u, call %llu: %s algo %s ctas %d radix %d type %s op %s count %zu root "
            "%d dest %p "
            "source %p: %s (%ld) %s\n",
            s->me, s->n, (unsigned long long)s->calls, ch_coll_names[call->coll], call->algo,
            call->ctas, call->radix, ch_type_names[call->type], ch_op_names[call->op],
            call->count, call->root, call->dest, (const void *)call->source, what, at,
            chorusx_last_error());
    exit(1);
}

static void give_up(void)
{
    fprintf(stderr, "PE %d: %s\n", chorus_my_pe(), chorusx_last_error());
    exit(1);
}

/* May this collective be called so? (The API refuses the rest.) */
static bool place_allowed(chorus_coll coll, enum place place)
{
    const bool allowed[][OWN_BLOCK + 1] = {
        [CH_OVERLAP_apart] = {[APART] = true},
        [CH_OVERLAP_same] = {[APART] = true, [SAME] = true},
        [CH_OVERLAP_in_dest] = {[APART] = true, [OWN_BLOCK] = true},
        [CH_OVERLAP_in_source] = {[APART] = true, [SAME] = true, [OWN_BLOCK] = true},
    };

    return allowed[ch_coll_overlap(coll)][place];
}

static void set_buffers(const struct site *s, chorusx_call *call, enum place place,
                        size_t offset)
{
    const size_t block = call->count * ch_type_bytes[call->type];

    call->dest = s->dest + GUARD_BYTES + offset;
    call->source = s->source + GUARD_BYTES + offset;
    if (place == SAME) call->dest = (void *)(uintptr_t)call->source;
    if (place == OWN_BLOCK && ch_coll_overlap(call->coll) == CH_OVERLAP_in_dest)
        call->source = (char *)call->dest + s->me * block;
    if (place == OWN_BLOCK && ch_coll_overlap(call->coll) == CH_OVERLAP_in_source)
        call->dest = (char *)(uintptr_t)call->source + s->me * block;
}

/* The distance of elements of an alltoalls, equal on all PEs: in dest, in source. Twice as far
 * there is room for a part of the counts. */
static size_t dest_step(const struct site *s, const chorusx_call *call)
{
    const bool is_strided = ch_coll_is_strided(call->coll) && call->count <= COUNT_MAX / 2;

    return is_strided ? 1 + s->calls % 2 : 1;
}

static size_t source_step(const struct site *s, const chorusx_call *call)
{
    const bool is_strided = ch_coll_is_strided(call->coll) && call->count <= COUNT_MAX / 2;

    return is_strided ? 1 + s->calls / 2 % 2 : 1;
}

/* What only some collectives have: other elements of this PE's, strides, blocks. */
static chorusx_call given_of(const struct site *s, const chorusx_call *call)
{
    chorusx_call given = *call;

    given.count = ref_own_count(call->coll, call->count, s->me);
    given.dst = (ptrdiff_t)dest_step(s, call);
    given.sst = (ptrdiff_t)source_step(s, call);
    given.dest_counts = s->lists[0];
    given.dest_offsets = s->lists[1];
    given.source_counts = s->lists[2];
    given.source_offsets = s->lists[3];
    for (uint32_t pe = 0; pe < s->n; pe++) {
        s->lists[0][pe] = ref_block(call->count, pe, s->me);
        s->lists[1][pe] = (s->n - 1 - pe) * call->count;
        s->lists[2][pe] = ref_block(call->count, s->me, pe);
        s->lists[3][pe] = pe * call->count;
    }
    return given;
}

static bool is_on_gpu(void)
{
    chorusx_heap_info_t info;

    return chorusx_heap_info(&info) == 0 && info.heap == CHORUS_HEAP_cuda;
}

/* Where the CPU finds what a buffer of the call holds. */
static char *here(const struct site *s, const void *symmetric)
{
    const ptrdiff_t in_dest = (const char *)symmetric - s->dest;

    if (in_dest >= 0 && (size_t)in_dest < buffer_bytes(s->n)) return s->dest_here + in_dest;
    return s->source_here + ((const char *)symmetric - s->source);
}

static void upload(const struct site *s)
{
    const int me = chorus_my_pe();

    if (s->dest_here == s->dest) return;
    chorus_putmem(s->dest, s->dest_here, buffer_bytes(s->n), me);
    chorus_putmem(s->source, s->source_here, buffer_bytes(s->n), me);
}

static void download(const struct site *s)
{
    const int me = chorus_my_pe();

    if (s->dest_here == s->dest) return;
    chorus_getmem(s->dest_here, s->dest, buffer_bytes(s->n), me);
    chorus_getmem(s->source_here, s->source, buffer_bytes(s->n), me);
}

static size_t dest_bytes(const struct site *s, const chorusx_call *call)
{
    return ref_dest_count(call->coll, s->n, call->count) * ch_type_bytes[call->type];
}

/* dest and the guards, which is all that is looked at. */
static void poison_dest(const struct site *s, const chorusx_call *call)
{
    ref_poison(here(s, call->dest) - GUARD_BYTES,
               dest_bytes(s, call) * dest_step(s, call) + 2 * GUARD_BYTES);
}

/* `bytes` of elements, which become `step` elements apart. */
static void spread(const chorusx_call *call, char *to, const void *from, size_t bytes,
                   size_t step)
{
    const size_t element = ch_type_bytes[call->type];

    if (step == 1) memcpy(to, from, bytes);
    for (size_t at = 0; at < bytes && step > 1; at += element)
        memcpy(to + at * step, (const char *)from + at, element);
}

/* Fill a block of PE `pe`'s source, of which there are n where each PE gets another one. */
static void fill_block(const struct site *s, const chorusx_call *call, uint32_t pe,
                       uint32_t block, void *source)
{
    ref_fill(call->coll, call->type, call->op, s->calls << 32 | block, pe, call->count,
             (char *)source + block * call->count * ch_type_bytes[call->type]);
}

/* The oracle works on private memory, so the copy is what ThreadSanitizer sees of the source.
 */
static void fill_source(const struct site *s, const chorusx_call *call)
{
    const uint32_t blocks = (uint32_t)ref_source_count(call->coll, s->n, 1);

    for (uint32_t block = 0; block < blocks; block++)
        fill_block(s, call, s->me, block, s->own);
    spread(call, here(s, call->source), s->own,
           blocks * call->count * ch_type_bytes[call->type], source_step(s, call));
}

/* What this PE's dest should hold. Of the sources, only what goes into it is made again. */
static void make_want(const struct site *s, const chorusx_call *call)
{
    const bool is_cut = ref_source_count(call->coll, s->n, 1) > 1;

    for (uint32_t pe = 0; pe < s->n; pe++)
        if (!ch_coll_is_from_root(call->coll) || pe == (uint32_t)call->root)
            fill_block(s, call, pe, is_cut ? s->me : 0, s->sources[pe]);
    ref_expect(call->coll, call->type, call->op, s->n, (uint32_t)call->root, call->count,
               (const void *const *)s->sources, s->me, s->want);
}

/* Elements apart, the memory between them, and the guards. */
static void check_strided(const struct site *s, const chorusx_call *call, size_t step)
{
    const size_t span = dest_bytes(s, call) * step + 2 * GUARD_BYTES;
    char *const want = malloc(span);
    const char *const got = here(s, call->dest) - GUARD_BYTES;

    ref_poison(want, span);
    make_want(s, call);
    spread(call, want + GUARD_BYTES, s->want, dest_bytes(s, call), step);
    for (size_t at = 0; at < span; at++)
        if (got[at] != want[at]) fail(s, call, "wrong byte of strided dest", (long)at);
    free(want);
}

static void check_dest(const struct site *s, const chorusx_call *call, bool has_guards)
{
    const size_t count = ref_dest_count(call->coll, s->n, call->count);
    const size_t bytes = dest_bytes(s, call);
    const char *got = here(s, call->dest);
    unsigned char guard[GUARD_BYTES];
    ptrdiff_t wrong;

    download(s);
    if (dest_step(s, call) > 1) {
        check_strided(s, call, dest_step(s, call));
        return;
    }
    if (ref_has_dest(call->coll, (uint32_t)call->root, s->me))
        make_want(s, call);
    else
        ref_poison(s->want, bytes);
    if (memcmp(got, s->want, bytes) != 0) {
        wrong = ref_compare(call->coll, call->type, got, s->want, count);
        if (wrong >= 0) fail(s, call, "wrong element", (long)wrong);
    }
    if (!has_guards) return;
    ref_poison(guard, sizeof(guard));
    if (memcmp(got - GUARD_BYTES, guard, GUARD_BYTES) != 0)
        fail(s, call, "wrote before dest", 0);
    if (memcmp(got + bytes, guard, GUARD_BYTES) != 0) fail(s, call, "wrote past dest", 0);
}

static void name_of(const struct ch_algo *algo, char name[64])
{
    snprintf(name, 64, "%s:%s", algo->name, ch_proto_names[algo->proto]);
}

/* The algorithm that a call forces; null: none. */
static const struct ch_algo *forced(const chorusx_call *call)
{
    char name[64];

    for (int a = 0; a < CH_ALGO_COUNT && call->algo != NULL; a++) {
        name_of(&ch_algos[a], name);
        if (ch_algos[a].coll == call->coll && strcmp(name, call->algo) == 0)
            return &ch_algos[a];
    }
    return NULL;
}

enum due { NEVER, PERHAPS, ALWAYS };

/* Is every PE of the team mapped? All members come to the same answer. */
static bool is_mapped(const struct site *s)
{
    for (uint32_t pe = 0; pe < s->n; pe++)
        if (chorus_ptr(s->symmetric,
                       chorus_team_translate_pe(s->team, (int)pe, CHORUS_TEAM_WORLD)) == NULL)
            return false;
    return true;
}

static bool is_elsewhere(const void *buffer)
{
    return !chorus_addr_accessible(buffer, chorus_my_pe());
}

/* Is a call refused as its algorithm's needs are not met, or its type has no kernel? Whether
 * the link keeps lines whole and switches multicast, only the library knows. */
static enum due refusal_due(const struct site *s, const chorusx_call *call, bool apart)
{
    const bool half = call->type == CHORUS_TYPE_f16 || call->type == CHORUS_TYPE_bf16;
    const bool wide = ch_type_bytes[call->type] == 16 || call->type == CHORUS_TYPE_c64;
    const struct ch_algo *const algo = forced(call);
    const uint32_t needs = algo != NULL ? algo->needs : 0;

    if (call->count == 0 && call->coll != CHORUS_COLL_barrier && !ch_coll_is_uneven(call->coll))
        return NEVER;
    if (is_on_gpu() && ch_coll_reduces(call->coll) && wide) return ALWAYS;
    if (is_on_gpu() && algo != NULL && algo->kernel == CH_KERNEL_none) return ALWAYS;
    if ((needs & CH_NEED_whole) != 0 && half) return ALWAYS;
    if ((needs & CH_NEED_apart) != 0 && !apart) return ALWAYS;
    if ((needs & (CH_NEED_map | CH_NEED_packets)) != 0 && !is_on_gpu() && !is_mapped(s))
        return ALWAYS;
    if ((needs & CH_NEED_nodes) != 0 && is_mapped(s)) return ALWAYS;
    if (is_elsewhere(call->dest) && (needs & CH_NEED_symmetric_dest) != 0) return ALWAYS;
    if (is_elsewhere(call->source) && (needs & CH_NEED_symmetric_source) != 0) return ALWAYS;
    if ((needs & (CH_NEED_copy_engine | CH_NEED_multicast)) != 0 && !is_on_gpu()) return ALWAYS;
    return (needs & (CH_NEED_lines | CH_NEED_multicast)) != 0 && is_on_gpu() ? PERHAPS : NEVER;
}

static void call_once(struct site *s, chorusx_call call, enum place place, size_t offset)
{
    const bool apart = place == APART;
    chorusx_call given;
    enum due refusal;
    int status;

    if (!place_allowed(call.coll, place)) return;
    s->calls++;
    call.team = s->team;
    set_buffers(s, &call, place, offset);
    if (apart) poison_dest(s, &call);
    fill_source(s, &call);
    upload(s);
    given = given_of(s, &call);
    status = chorusx_collective(&given, s->stream);
    if (status == CHORUS_OK && s->stream != NULL)
        status = chorusx_stream_synchronize(s->stream);
    refusal = refusal_due(s, &call, apart);
    if (status == CHORUS_ERR_UNSUPPORTED && refusal != NEVER) return;
    if (refusal == ALWAYS) fail(s, &call, "not refused", status);
    if (status != CHORUS_OK) fail(s, &call, "status", status);
    if (!apart && !ref_has_dest(call.coll, (uint32_t)call.root, s->me)) return;
    if (call.count != 0 && call.coll != CHORUS_COLL_barrier) check_dest(s, &call, apart);
}

/* Where nothing is left out. */
static bool is_full(void)
{
    return getenv("CHORUS_TEST_FULL") != NULL;
}

/* What is run on a team: each type and operator with all counts; one of them; with some counts.
 * With CHORUS_TEST_SMALL one of them and some counts in any case, with CHORUS_TEST_FULL all. */
enum part { ALL_TYPES, ALL_COUNTS, SOME_COUNTS };

static bool is_in_part(const struct site *s, const struct ch_algo *algo, size_t i)
{
    return (i + s->n + (size_t)(algo - ch_algos)) % 3 == 0;
}

/* Counts around the team's size and the chunks' bounds; or the longest, and a third of the
 * others, which depends on the algorithm and the team's size. */
static void counts_of(struct site *s, const struct ch_algo *algo, chorusx_call call,
                      bool is_in_parts)
{
    const size_t counts[] = {0, 1, s->n - 1, s->n, s->n + 1, 17, 240, 241, 1021, COUNT_MAX};
    char name[64];

    name_of(algo, name);
    call.algo = name;
    call.coll = algo->coll;
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        if (is_in_parts && counts[i] != COUNT_MAX && !is_in_part(s, algo, i)) continue;
        call.count = counts[i];
        call.root = (int)(i % s->n);
        for (int place = APART; place <= OWN_BLOCK; place++)
            for (int ctas = 1; ctas <= (algo->kernel == CH_KERNEL_none ? 1 : 2); ctas++) {
                call.ctas = ctas;
                call_once(s, call, (enum place)place,
                          i % 3 == 0 ? 0 : ch_type_align[call.type]);
            }
    }
}

/* The most CTAs of a call. */
static int ctas_max(void)
{
    const char *text = getenv("CHORUS_CTAS");

    if (text != NULL) return (int)strtol(text, NULL, 10);
    return is_on_gpu() ? CH_CTAS_ON_GPU : CH_CTAS_ON_HOST;
}

/* Fewer elements than CTAs, some for each, and many chunks for each. */
static void large_counts(struct site *s)
{
    const size_t large = is_on_gpu() || is_full() ? COUNT_LARGE : COUNT_LARGE_PART;
    const size_t counts[] = {5, 1021, large};
    static const int ctas[] = {1, 8, 64, 2 * CH_CTAS_ON_GPU};
    const int most = ctas_max();
    char name[64];

    for (int a = 0; a < CH_ALGO_COUNT; a++)
        for (int i = 0; i < 12; i++) {
            chorusx_call call = {.type = CHORUS_TYPE_i32, .op = CHORUS_OP_sum, .radix = 2};

            name_of(&ch_algos[a], name);
            call.algo = name;
            call.coll = ch_algos[a].coll;
            call.count = counts[i / 4];
            call.ctas = ctas[i % 4];
            call.root = (int)(i % (int)s->n);
            if (call.ctas > (is_on_gpu() && ch_algos[a].is_wide ? 2 * most : most)) continue;
            if (call.ctas > 1 && ch_algos[a].kernel == CH_KERNEL_none) continue;
            if (call.ctas > 1 || call.count < large) call_once(s, call, APART, 4);
        }
}

static void all_counts(struct site *s)
{
    static const chorus_type types[] = {CHORUS_TYPE_u8, CHORUS_TYPE_i16, CHORUS_TYPE_f32,
                                        CHORUS_TYPE_c128};

    for (int a = 0; a < CH_ALGO_COUNT; a++)
        for (size_t t = 0; t < sizeof(types) / sizeof(types[0]); t++)
            for (int radix = 2; radix <= (ch_algos[a].takes_radix ? 4 : 2); radix++)
                counts_of(s, &ch_algos[a],
                          (chorusx_call){.type = types[t], .op = CHORUS_OP_sum, .radix = radix},
                          false);
}

/* Every type with every operator it takes, through every algorithm that combines, and through
 * the rule table. */
static void all_operators(struct site *s)
{
    for (int a = 0; a < CH_ALGO_COUNT; a++) {
        char name[64];

        if (!ch_coll_reduces(ch_algos[a].coll)) continue;
        name_of(&ch_algos[a], name);
        for (int type = 0; type < CHORUS_TYPE_COUNT; type++)
            for (int op = 0; op < CHORUS_OP_COUNT; op++) {
                chorusx_call call = {.coll = ch_algos[a].coll, .count = 131, .radix = 3};

                call.type = (chorus_type)type;
                call.op = (chorus_op)op;
                if (!ch_op_takes(call.op, call.type)) continue;
                call.algo = name;
                call_once(s, call, APART, 0);
                call.algo = NULL;
                call_once(s, call, SAME, 0);
            }
    }
}

/* Where each call is slow, a few of them. */
static bool is_small(void)
{
    return getenv("CHORUS_TEST_SMALL") != NULL && !is_full();
}

static void open_site(struct site *s, chorus_team_t team, chorus_stream_t stream)
{
    *s = (struct site){.team = team, .stream = stream};
    s->me = (uint32_t)chorus_team_my_pe(team);
    s->n = (uint32_t)chorus_team_n_pes(team);
    s->own = malloc(buffer_bytes(s->n));
    s->want = malloc(buffer_bytes(s->n));
    s->sources = calloc(s->n, sizeof(*s->sources));
    for (uint32_t pe = 0; pe < s->n; pe++)
        s->sources[pe] = malloc(buffer_bytes(s->n));
    for (int list = 0; list < 4; list++)
        s->lists[list] = calloc(s->n, sizeof(*s->lists[list]));
}

static void close_site(struct site *s)
{
    for (uint32_t pe = 0; pe < s->n; pe++)
        free(s->sources[pe]);
    for (int list = 0; list < 4; list++)
        free(s->lists[list]);
    free(s->sources);
    free(s->want);
    free(s->own);
}

/* What rules choose, for each collective. */
static void by_table(struct site *s)
{
    static const size_t counts[] = {1, 240, COUNT_MAX};

    for (int coll = 0; coll < CHORUS_COLL_COUNT; coll++)
        for (int i = 0; i < 9; i++) {
            chorusx_call call = {.coll = (chorus_coll)coll,
                                 .type = CHORUS_TYPE_f64,
                                 .op = CHORUS_OP_sum,
                                 .count = counts[i / 3],
                                 .root = i % (int)s->n};

            call_once(s, call, (enum place)(i % 3), i % 2 == 0 ? 8 : 0);
        }
}

static void run_on(chorus_team_t team, char *dest, char *source, const void *symmetric,
                   chorus_stream_t stream, enum part part)
{
    const bool is_in_parts = (part == SOME_COUNTS || is_small()) && !is_on_gpu() && !is_full();
    struct site s;

    if (team == CHORUS_TEAM_INVALID) return;
    open_site(&s, team, stream);
    s.dest = s.dest_here = dest;
    s.source = s.source_here = source;
    s.symmetric = symmetric;
    if (is_on_gpu()) {
        s.dest_here = malloc(buffer_bytes(s.n));
        s.source_here = malloc(buffer_bytes(s.n));
    }
    if (is_large)
        large_counts(&s);
    else if (part == ALL_TYPES && !is_small())
        all_counts(&s);
    else if (s.n > 1 || !is_small()) /* a PE alone waits for nobody, but others for it */
        for (int a = 0; a < CH_ALGO_COUNT; a++)
            counts_of(&s, &ch_algos[a],
                      (chorusx_call){.type = CHORUS_TYPE_i32, .op = CHORUS_OP_sum, .radix = 2},
                      is_in_parts);
    if (part == ALL_TYPES && !is_small() && !is_large) all_operators(&s);
    if (!is_large) by_table(&s);
    if (s.dest_here != s.dest) {
        free(s.dest_here);
        free(s.source_here);
    }
    close_site(&s);
}

/* Many calls in the queue before the first is checked, each with buffers of its own. */
static void queue_of_calls(chorus_stream_t stream)
{
    enum { CALLS = 40, COUNT = 100 };
    int *dest = chorus_malloc(CALLS * COUNT * sizeof(int)),
        *source = chorus_malloc(CALLS * COUNT * sizeof(int));
    const int me = chorus_my_pe(), n = chorus_n_pes();

    int *values = malloc(CALLS * COUNT * sizeof(int));

    for (int i = 0; i < CALLS * COUNT; i++)
        values[i] = i * (me + 1);
    chorus_putmem(source, values, CALLS * COUNT * sizeof(int), me);
    for (int c = 0; c < CALLS; c++)
        if (chorusx_int_sum_reduce_on_stream(CHORUS_TEAM_WORLD, dest + c * COUNT,
                                             source + c * COUNT, COUNT, stream))
            give_up();
    if (chorusx_stream_synchronize(stream) != 0) give_up();
    chorus_getmem(values, dest, CALLS * COUNT * sizeof(int), me);
    for (int i = 0; i < CALLS * COUNT; i++)
        if (values[i] != i * (n * (n + 1) / 2)) {
            fprintf(stderr, "PE %d: queued sum %d is %d\n", me, i, values[i]);
            give_up();
        }
    free(values);
    chorus_free(source);
    chorus_free(dest);
}

/* Evens, odds, everyone backwards, and the lower half. */
static void other_teams(char *dest, char *source)
{
    const int me = chorus_my_pe(), n = chorus_n_pes();
    chorus_team_t team = CHORUS_TEAM_INVALID, halves = CHORUS_TEAM_INVALID;
    int *backwards = calloc((size_t)n, sizeof(int));

    for (int i = 0; i < n; i++)
        backwards[i] = n - 1 - i;
    if (chorusx_team_create(CHORUS_TEAM_WORLD, backwards, n, &team) != 0) give_up();
    run_on(team, dest, source, dest, NULL, SOME_COUNTS);
    if (chorus_team_split_strided(team, 0, 1, (n + 1) / 2, NULL, 0, &halves) != 0) give_up();
    run_on(halves, dest, source, dest, NULL, SOME_COUNTS);
    if (halves != CHORUS_TEAM_INVALID) chorus_team_destroy(halves);
    chorus_team_destroy(team);
    chorus_barrier_all();
    for (int start = 0; start < 2 && n > 1; start++) {
        if (chorus_team_split_strided(CHORUS_TEAM_WORLD, start, 2, (n + 1 - start) / 2, NULL, 0,
                                      &team) != 0)
            give_up();
        if (me % 2 == start) run_on(team, dest, source, dest, NULL, SOME_COUNTS);
        if (team != CHORUS_TEAM_INVALID) chorus_team_destroy(team);
    }
    free(backwards);
}

/* Buffers of the program's own memory, which the CPU sees. */
static void elsewhere_main(void *arg)
{
    const uint32_t n = (uint32_t)chorus_n_pes();
    char *dest = chorus_malloc(buffer_bytes(n)), *source = chorus_malloc(buffer_bytes(n));
    char *own_dest = malloc(buffer_bytes(n)), *own_source = malloc(buffer_bytes(n));

    (void)arg;
    if (dest == NULL || source == NULL || own_dest == NULL || own_source == NULL) give_up();
    run_on(CHORUS_TEAM_WORLD, own_dest, own_source, dest, NULL, ALL_COUNTS);
    run_on(CHORUS_TEAM_WORLD, dest, own_source, dest, NULL, ALL_COUNTS);
    run_on(CHORUS_TEAM_WORLD, own_dest, source, dest, NULL, ALL_COUNTS);
    free(own_source);
    free(own_dest);
    chorus_free(source);
    chorus_free(dest);
}

static void pe_main(void *arg)
{
    const uint32_t n = (uint32_t)chorus_n_pes();
    char *dest = chorus_malloc(buffer_bytes(n)), *source = chorus_malloc(buffer_bytes(n));
    chorus_stream_t stream;

    (void)arg;
    if (dest == NULL || source == NULL) give_up();
    run_on(CHORUS_TEAM_WORLD, dest, source, dest, NULL, ALL_TYPES);
    if (!is_large) {
        other_teams(dest, source);
        if (chorusx_stream_create(&stream) != 0) give_up();
        run_on(CHORUS_TEAM_WORLD, dest, source, dest, stream, ALL_COUNTS);
        queue_of_calls(stream);
        if (chorusx_stream_destroy(stream) != 0) give_up();
    }
    chorus_free(source);
    chorus_free(dest);
}

int main(int argc, char **argv)
{
    const bool is_anywhere = argc > 1 && strcmp(argv[1], "elsewhere") == 0;
    void (*const run)(void *) = is_anywhere ? elsewhere_main : pe_main;

    if (argc == 3) return chorusx_run_threads((int)strtol(argv[2], NULL, 10), run, NULL) != 0;
    is_large = argc == 2 && strcmp(argv[1], "large") == 0;
    if (chorus_init() != 0) {
        fprintf(stderr, "%s\n", chorusx_last_error());
        return 1;
    }
    run(NULL);
    chorus_finalize();
    return 0;
}
