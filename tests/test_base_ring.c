/* SPDX-License-Identifier: Apache-2.0 */
/* The ring of requests on a host: threads post, a thread takes; and waits that fail. */
#include "base/clock.h"
#include "base/ring.h"

#include <check.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

#define SLOTS_MAX 8u
#define PRODUCERS 3u
#define SOURCES 4u
#define SOURCE_WORDS 8u
#define WORDS_LOG2 1u

struct scene {
    struct ch_door door;
    struct ch_wait_policy policy;
    struct ch_ring_slot slots[SLOTS_MAX];
    struct ch_ring_shared shared;
    uint64_t freed, words[1u << WORDS_LOG2];
    struct ch_ring ring;
    struct ch_ring_consumer consumer;
};

static void open_scene(struct scene *s, uint32_t capacity_log2, uint64_t start,
                       uint64_t timeout_ns)
{
    memset(s, 0, sizeof(*s));
    ch_wait_policy_init(&s->policy, &s->door, PRODUCERS + 1, 2, timeout_ns);
    s->shared.ticket = s->shared.seen = s->shared.quieted = s->freed = s->consumer.next = start;
    s->ring.slots = s->consumer.slots = s->slots;
    s->ring.freed = s->consumer.freed = &s->freed;
    s->ring.shared = &s->shared;
    s->ring.words_log2 = WORDS_LOG2;
    s->ring.words = s->words;
    s->ring.capacity_log2 = s->consumer.capacity_log2 = capacity_log2;
}

/* Words whose halves differ, so that parts in the wrong place are found. */
static struct ch_ring_request numbered(uint64_t number)
{
    const uint64_t halves = number << 32 | (uint32_t)~number;

    return (struct ch_ring_request){.head = ch_request_head(CH_RING_PUT, (uint32_t)number, 5),
                                    .there = halves + 1,
                                    .source = halves + 2,
                                    .bytes = halves + 3,
                                    .word = halves + 4,
                                    .value = halves + 5};
}

static void expect_numbered(struct scene *s, uint64_t number)
{
    const struct ch_ring_request expected = numbered(number);
    struct ch_ring_request found;

    ck_assert_int_eq(ch_ring_take(&s->consumer, &found), 1);
    ck_assert_mem_eq(&found, &expected, sizeof(found));
}

static void expect_none(struct scene *s)
{
    struct ch_ring_request found;

    ck_assert_int_eq(ch_ring_take(&s->consumer, &found), 0);
}

static chorus_status post_numbered(struct scene *s, uint64_t number)
{
    const struct ch_ring_request r = numbered(number);

    return ch_ring_post(&s->ring, &s->policy, &r);
}

/* --- one thread --------------------------------------------------------------------------- */

/* From ticket 0, and shortly before phases and tickets wrap around. */
static const uint64_t starts[] = {0, UINT64_C(0xfffffffe) << 2, UINT64_C(0) - 8};

START_TEST(take__some_laps__gets_each_request_once)
{
    struct scene s;
    uint64_t posted = 0, taken = 0;

    open_scene(&s, 2, starts[_i], 0);
    while (taken < 40) {
        for (uint64_t i = 0; i <= taken % 4; i++)
            ck_assert_int_eq(post_numbered(&s, posted++), CHORUS_OK);
        while (taken < posted)
            expect_numbered(&s, taken++);
        expect_none(&s);
    }
    ck_assert_uint_eq(s.consumer.next - starts[_i], posted);
    ck_assert_uint_eq(s.consumer.waited, 0);
}
END_TEST

/* A request is there when all of its quads are, in whatever order they come. */
START_TEST(take__one_quad_missing__gets_nothing)
{
    struct scene s;
    struct ch_ring_slot complete;

    open_scene(&s, 2, 0, 0);
    ck_assert_int_eq(post_numbered(&s, 9), CHORUS_OK);
    complete = s.slots[0];
    memset(s.slots[0].quad[_i], 0, sizeof(s.slots[0].quad[_i]));
    expect_none(&s);
    ck_assert_uint_eq(s.freed, 0);
    s.slots[0] = complete;
    expect_numbered(&s, 9);
    ck_assert_uint_eq(s.freed, 1);
}
END_TEST

START_TEST(head__made__has_its_parts)
{
    const struct ch_ring_request r = {.head =
                                          ch_request_head(CH_RING_PUT_INLINE, 0xfedcba98u, 32) |
                                          CH_REQUEST_CTX(255) | CH_REQUEST_ADDS};

    ck_assert_int_eq(ch_request_op(&r), CH_RING_PUT_INLINE);
    ck_assert_uint_eq(ch_request_pe(&r), 0xfedcba98u);
    ck_assert_uint_eq(ch_request_inline_bytes(&r), 32);
    ck_assert_uint_eq(ch_request_ctx(&r), 255);
    ck_assert_uint_eq(r.head & (CH_REQUEST_ADDS | CH_REQUEST_WAITED), CH_REQUEST_ADDS);
}
END_TEST

/* --- many threads ------------------------------------------------------------------------- */

struct producer {
    struct scene *scene;
    uint32_t id;
    uint64_t posts;
    uint64_t completion;
    uint64_t sources[SOURCES][SOURCE_WORDS]; /* plain memory, which the consumer reads */
    uint64_t taken;                          /* the consumer's */
};

static uint64_t content(const struct producer *p, uint64_t number, uint32_t word)
{
    return number * 16 + word + ((uint64_t)p->id << 56);
}

/* The ops take turns. Between two flushes a producer posts two sources, which are different
 * ones, so each is flushed before it is filled again. */
static enum ch_ring_op op_of(uint64_t number)
{
    static const enum ch_ring_op ops[] = {CH_RING_PUT, CH_RING_PUT_INLINE, CH_RING_PUT_SIGNAL,
                                          CH_RING_WORD, CH_RING_FLUSH};

    return ops[number % 5];
}

static bool has_source(uint64_t number)
{
    return op_of(number) == CH_RING_PUT || op_of(number) == CH_RING_PUT_SIGNAL;
}

static void make_request(struct producer *p, uint64_t number, struct ch_ring_request *out)
{
    *out = (struct ch_ring_request){
        .head = ch_request_head(op_of(number), p->id,
                                op_of(number) == CH_RING_PUT_INLINE ? CH_RING_INLINE_BYTES : 0),
        .there = number,
        .source = content(p, number, 0),
        .bytes = content(p, number, 1),
        .word = content(p, number, 2),
        .value = content(p, number, 3)};
    if (has_source(number)) out->source = (uint64_t)(uintptr_t)p->sources[number % SOURCES];
}

static void *produce(void *arg)
{
    struct producer *const p = arg;
    struct scene *const s = p->scene;

    for (uint64_t number = 0; number < p->posts; number++) {
        struct ch_ring_request r;
        chorus_status st;

        if (op_of(number) == CH_RING_FLUSH) {
            st = ch_ring_flush(&s->ring, &s->policy, ch_request_head(CH_RING_FLUSH, p->id, 0),
                               &p->completion, number);
        } else {
            make_request(p, number, &r);
            for (uint32_t i = 0; has_source(number) && i < SOURCE_WORDS; i++)
                p->sources[number % SOURCES][i] = content(p, number, i);
            st = ch_ring_post(&s->ring, &s->policy, &r);
        }
        if (st != CHORUS_OK) return p;
    }
    return NULL;
}

static void carry_out(struct producer *p, const struct ch_ring_request *r)
{
    struct ch_ring_request expected;

    ck_assert_int_eq(ch_request_op(r), op_of(p->taken));
    if (ch_request_op(r) == CH_RING_FLUSH) {
        ck_assert_uint_eq(r->value, p->taken);
        ch_ring_complete((uint64_t *)(uintptr_t)r->word, r->value);
    } else {
        make_request(p, p->taken, &expected);
        ck_assert_mem_eq(r, &expected, sizeof(*r));
        for (uint32_t i = 0; has_source(p->taken) && i < SOURCE_WORDS; i++)
            ck_assert_uint_eq(((const uint64_t *)(uintptr_t)r->source)[i],
                              content(p, p->taken, i));
    }
    p->taken++;
}

/* A million requests; a sanitizer takes long for each. */
START_TEST(ring__threads_post__all_requests_are_taken_once)
{
    static struct producer producers[PRODUCERS];
    const uint64_t posts =
        (getenv("CHORUS_TEST_SMALL") != NULL ? 50000u : 1000000u) / PRODUCERS;
    pthread_t threads[PRODUCERS];
    struct scene s;
    struct ch_wait w = {0};

    open_scene(&s, 3, UINT64_C(0) - 16, 0);
    for (uint32_t i = 0; i < PRODUCERS; i++) {
        producers[i] = (struct producer){.scene = &s, .id = i, .posts = posts};
        ck_assert_int_eq(pthread_create(&threads[i], NULL, produce, &producers[i]), 0);
    }
    for (uint64_t taken = 0; taken < PRODUCERS * posts;) {
        struct ch_ring_request r;

        if (!ch_ring_take(&s.consumer, &r)) {
            ck_assert_int_eq(ch_wait_slow(&s.policy, &w), CHORUS_OK);
            continue;
        }
        ch_wait_end(&s.policy, &w);
        w = (struct ch_wait){0};
        ck_assert_uint_lt(ch_request_pe(&r), PRODUCERS);
        carry_out(&producers[ch_request_pe(&r)], &r);
        taken++;
    }
    for (uint32_t i = 0; i < PRODUCERS; i++) {
        void *failed;

        ck_assert_int_eq(pthread_join(threads[i], &failed), 0);
        ck_assert_ptr_null(failed);
    }
    expect_none(&s);
}
END_TEST

/* --- calls, which share completion words -------------------------------------------------- */

/* A thread that makes one call after another. */
struct caller {
    struct scene *scene;
    uint32_t id;
    uint64_t calls;
    uint64_t completed; /* the consumer's, plain memory: its calls that were completed */
};

static struct ch_ring_request quiet_of(uint32_t pe)
{
    return (struct ch_ring_request){.head = ch_request_head(CH_RING_QUIET, pe, 0)};
}

static void *call_often(void *arg)
{
    struct caller *const c = arg;
    const struct ch_ring_request quiet = quiet_of(c->id);

    for (uint64_t i = 0; i < c->calls; i++) {
        if (ch_ring_call(&c->scene->ring, &c->scene->policy, &quiet) != CHORUS_OK) return c;
        if (c->completed != i + 1) return c;
    }
    return NULL;
}

/* The call that was taken last is completed first. Two that are open have different words, and
 * the values of a word grow one by one. */
static void complete_in_reverse(struct scene *s, struct caller *callers,
                                const struct ch_ring_request *open, uint32_t n)
{
    for (uint32_t i = n; i-- > 0;) {
        uint64_t *const word = (uint64_t *)(uintptr_t)open[i].word;

        ck_assert(word >= s->words && word < s->words + (1u << WORDS_LOG2));
        ck_assert_uint_eq(*word + 1, open[i].value);
        callers[ch_request_pe(&open[i])].completed++;
        ch_ring_complete(word, open[i].value);
    }
}

START_TEST(call__threads_share_words__each_sees_its_own_completion)
{
    struct caller callers[PRODUCERS];
    const uint64_t calls = (getenv("CHORUS_TEST_SMALL") != NULL ? 5000u : 100000u) / PRODUCERS;
    struct ch_ring_request open[PRODUCERS];
    pthread_t threads[PRODUCERS];
    struct ch_wait w = {0};
    struct scene s;

    open_scene(&s, 2, UINT64_C(0) - 16, 0);
    for (uint32_t i = 0; i < PRODUCERS; i++) {
        callers[i] = (struct caller){.scene = &s, .id = i, .calls = calls};
        ck_assert_int_eq(pthread_create(&threads[i], NULL, call_often, &callers[i]), 0);
    }
    for (uint64_t taken = 0; taken < PRODUCERS * calls;) {
        uint32_t n = 0;

        while (n < PRODUCERS && ch_ring_take(&s.consumer, &open[n]))
            n++;
        if (n == 0) {
            ck_assert_int_eq(ch_wait_slow(&s.policy, &w), CHORUS_OK);
            continue;
        }
        ch_wait_end(&s.policy, &w);
        w = (struct ch_wait){0};
        complete_in_reverse(&s, callers, open, n);
        taken += n;
    }
    for (uint32_t i = 0; i < PRODUCERS; i++) {
        void *failed;

        ck_assert_int_eq(pthread_join(threads[i], &failed), 0);
        ck_assert_ptr_null(failed);
    }
    ck_assert_uint_eq(s.shared.calls, PRODUCERS * calls);
}
END_TEST

/* The waits of these calls fail, but their requests are posted, and the host completes them. */
START_TEST(call__not_completed_in_time__does_not_break_the_ring)
{
    const struct ch_ring_request quiet = quiet_of(7);
    struct ch_ring_request found;
    struct scene s;

    open_scene(&s, 2, 0, 30 * CH_NS_PER_MS);
    ck_assert_int_eq(ch_ring_call(&s.ring, &s.policy, &quiet), CHORUS_ERR_TIMEOUT);
    ck_assert_int_eq(ch_ring_call(&s.ring, &s.policy, &quiet), CHORUS_ERR_TIMEOUT);
    ck_assert_uint_eq(s.shared.broken, 0);
    for (uint32_t i = 0; i < 2; i++) {
        ck_assert_int_eq(ch_ring_take(&s.consumer, &found), 1);
        ck_assert_ptr_eq((uint64_t *)(uintptr_t)found.word, &s.words[i]);
        ck_assert_uint_eq(found.value, 1);
        ch_ring_complete((uint64_t *)(uintptr_t)found.word, found.value);
    }
    expect_none(&s);
}
END_TEST

/* The third call has the word of the first, which is not complete. It posts nothing, so no
 * later call could use the word. */
START_TEST(call__its_word_is_not_free_in_time__breaks_the_ring)
{
    const struct ch_ring_request quiet = quiet_of(7);
    struct ch_ring_request found;
    struct scene s;

    open_scene(&s, 2, 0, 30 * CH_NS_PER_MS);
    for (uint32_t i = 0; i < 3; i++)
        ck_assert_int_eq(ch_ring_call(&s.ring, &s.policy, &quiet), CHORUS_ERR_TIMEOUT);
    ck_assert_int_eq((int)(int64_t)s.shared.broken, CHORUS_ERR_TIMEOUT);
    ck_assert_int_eq(ch_ring_take(&s.consumer, &found), 1);
    ck_assert_int_eq(ch_ring_take(&s.consumer, &found), 1);
    expect_none(&s);
}
END_TEST

/* --- waits that fail ---------------------------------------------------------------------- */

static void nap(long ms)
{
    const struct timespec t = {0, ms * 1000000};

    (void)nanosleep(&t, NULL);
}

static void *abort_later(void *arg)
{
    nap(30);
    ch_door_abort(arg);
    return NULL;
}

static void *take_later(void *arg)
{
    struct scene *const s = arg;
    struct ch_ring_request found;

    nap(30);
    return ch_ring_take(&s->consumer, &found) ? NULL : s;
}

static void fill(struct scene *s)
{
    for (uint64_t i = 0; i < 4; i++)
        ck_assert_int_eq(post_numbered(s, i), CHORUS_OK);
}

/* With a policy whose waits would not fail at once by themselves. */
static void expect_broken(struct scene *s, chorus_status failure)
{
    const uint64_t begin = ch_clock_ns();
    const struct ch_ring_request r = numbered(1);
    struct ch_wait_policy policy;
    struct ch_door door = {0};
    uint64_t word = 3;

    ch_wait_policy_init(&policy, &door, 2, 2, 60 * CH_NS_PER_S);
    ck_assert_int_eq(ch_ring_post(&s->ring, &policy, &r), failure);
    ck_assert_int_eq(ch_ring_flush(&s->ring, &policy, CH_RING_FLUSH, &word, 4), failure);
    ck_assert_int_eq(ch_ring_wait(&s->ring, &policy, &word, 4), failure);
    ck_assert_int_eq(ch_ring_wait(&s->ring, &policy, &word, 3), CHORUS_OK);
    ck_assert(ch_clock_ns() - begin < 30 * CH_NS_PER_S);
    /* What was posted before is there, and the consumer never waits for what was not. */
    for (uint64_t i = 0; i < 4; i++)
        expect_numbered(s, i);
    expect_none(s);
    ck_assert_int_eq(ch_ring_post(&s->ring, &policy, &r), failure);
    expect_none(s);
}

START_TEST(post__full_until_a_credit__waits_and_is_counted)
{
    struct scene s;
    pthread_t thread;
    void *failed;

    open_scene(&s, 2, 0, 0);
    fill(&s);
    ck_assert_int_eq(pthread_create(&thread, NULL, take_later, &s), 0);
    ck_assert_int_eq(post_numbered(&s, 4), CHORUS_OK);
    ck_assert_int_eq(pthread_join(thread, &failed), 0);
    ck_assert_ptr_null(failed);
    for (uint64_t i = 1; i < 5; i++)
        expect_numbered(&s, i);
    ck_assert_uint_eq(s.consumer.waited, 1);
    ck_assert_uint_eq(s.shared.broken, 0);
}
END_TEST

START_TEST(post__full_until_the_deadline__breaks_the_ring)
{
    struct scene s;

    open_scene(&s, 2, 0, 30 * CH_NS_PER_MS);
    fill(&s);
    ck_assert_int_eq(post_numbered(&s, 4), CHORUS_ERR_TIMEOUT);
    expect_broken(&s, CHORUS_ERR_TIMEOUT);
}
END_TEST

START_TEST(post__full_until_an_abort__breaks_the_ring)
{
    struct scene s;
    pthread_t thread;

    open_scene(&s, 2, 0, 0);
    fill(&s);
    ck_assert_int_eq(pthread_create(&thread, NULL, abort_later, &s.door), 0);
    ck_assert_int_eq(post_numbered(&s, 4), CHORUS_ERR_ABORTED);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    expect_broken(&s, CHORUS_ERR_ABORTED);
}
END_TEST

struct waiter {
    struct scene *scene;
    struct ch_wait_policy policy;
    struct ch_door door;
    chorus_status flush;
};

static void *flush_meanwhile(void *arg)
{
    struct waiter *const w = arg;
    uint64_t word = 0;

    w->flush = ch_ring_flush(&w->scene->ring, &w->policy, CH_RING_FLUSH, &word, 1);
    return NULL;
}

/* A wait that has begun ends as well. */
START_TEST(flush__ring_breaks_meanwhile__fails)
{
    struct scene s;
    struct waiter w = {.scene = &s};
    pthread_t thread;

    open_scene(&s, 2, 0, 100 * CH_NS_PER_MS);
    ch_wait_policy_init(&w.policy, &w.door, PRODUCERS + 1, 2, 0);
    for (uint64_t i = 0; i < 3; i++)
        ck_assert_int_eq(post_numbered(&s, i), CHORUS_OK);
    ck_assert_int_eq(pthread_create(&thread, NULL, flush_meanwhile, &w), 0);
    nap(30);
    while (post_numbered(&s, 4) == CHORUS_OK)
        continue;
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    ck_assert_int_eq(w.flush, CHORUS_ERR_TIMEOUT);
}
END_TEST

/* A flush whose own wait fails leaves the ring as it was. */
START_TEST(flush__not_carried_out_in_time__does_not_break_the_ring)
{
    struct scene s;
    uint64_t word = 0;
    struct ch_ring_request found;

    open_scene(&s, 2, 0, 30 * CH_NS_PER_MS);
    ck_assert_int_eq(
        ch_ring_flush(&s.ring, &s.policy, ch_request_head(CH_RING_FLUSH, 7, 0), &word, 1),
        CHORUS_ERR_TIMEOUT);
    ck_assert_int_eq(post_numbered(&s, 1), CHORUS_OK);
    ck_assert_int_eq(ch_ring_take(&s.consumer, &found), 1);
    ck_assert_int_eq(ch_request_op(&found), CH_RING_FLUSH);
    ck_assert_uint_eq(ch_request_pe(&found), 7);
    ch_ring_complete((uint64_t *)(uintptr_t)found.word, found.value);
    ck_assert_uint_eq(word, 1);
    expect_numbered(&s, 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("base");
    TCase *tcase = tcase_create("ring");

    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, take__some_laps__gets_each_request_once, 0, 3);
    tcase_add_loop_test(tcase, take__one_quad_missing__gets_nothing, 0, CH_RING_QUADS);
    tcase_add_test(tcase, head__made__has_its_parts);
    tcase_add_test(tcase, ring__threads_post__all_requests_are_taken_once);
    tcase_add_test(tcase, call__threads_share_words__each_sees_its_own_completion);
    tcase_add_test(tcase, call__not_completed_in_time__does_not_break_the_ring);
    tcase_add_test(tcase, call__its_word_is_not_free_in_time__breaks_the_ring);
    tcase_add_test(tcase, post__full_until_a_credit__waits_and_is_counted);
    tcase_add_test(tcase, post__full_until_the_deadline__breaks_the_ring);
    tcase_add_test(tcase, post__full_until_an_abort__breaks_the_ring);
    tcase_add_test(tcase, flush__ring_breaks_meanwhile__fails);
    tcase_add_test(tcase, flush__not_carried_out_in_time__does_not_break_the_ring);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
