/* SPDX-License-Identifier: Apache-2.0 */
/* Which PE waits for which, by records of three PEs. */
#include "base/record.h"
#include "chorus/chorus.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

enum { PES = 3, WORD = 0x40 };

static struct ch_record all[PES];

static const struct ch_record *record_of(const void *arg, uint32_t pe)
{
    const struct ch_record *const known = arg;

    return known != NULL ? &known[pe] : NULL;
}

/* PE 2 is on another host. */
static const struct ch_record *record_near(const void *arg, uint32_t pe)
{
    return pe < 2 ? record_of(arg, pe) : NULL;
}

static const struct ch_records records = {record_of, all, PES};

static void make_records(bool are_full)
{
    memset(all, 0, sizeof(all));
    for (uint32_t pe = 0; pe < PES; pe++) {
        ch_record_init(&all[pe], pe, PES);
        all[pe].is_full = are_full;
    }
}

static uint64_t begin(uint32_t pe, struct ch_doing doing)
{
    const struct ch_entry noted = ch_entry_of(&doing);

    return ch_record_begin(&all[pe], &noted, true, CH_ENTRY_RUNNING);
}

static void begin_wait(uint32_t pe)
{
    (void)begin(pe, (struct ch_doing){.what = CH_DOING_wait,
                                      .type = CHORUS_TYPE_u64,
                                      .op = CHORUS_CMP_GE,
                                      .count = 1,
                                      .offset = WORD,
                                      .value = 2});
}

static void begin_barrier(uint32_t pe, uint64_t number)
{
    (void)begin(pe, (struct ch_doing){.what = CHORUS_COLL_barrier, .number = number});
}

static void write_word(uint32_t pe, uint32_t of_pe, enum ch_access_what what, uint64_t offset)
{
    const struct ch_access access = {
        .what = what, .pe = of_pe, .offset = offset, .bytes = 8, .value = 1};

    ch_record_access_end(&all[pe], ch_record_access(&all[pe], &access));
}

static void expect(const struct ch_chain *chain, const char *part)
{
    ck_assert_msg(strstr(chain->text, part) != NULL, "no \"%s\" in: %s", part, chain->text);
}

START_TEST(chain__a_ring_of_waits__is_a_cycle)
{
    struct ch_chain chain;

    make_records(true);
    for (uint32_t pe = 0; pe < PES; pe++) {
        write_word(pe, (pe + 1) % PES, CH_ACCESS_set, WORD);
        begin_wait(pe);
    }
    ck_assert(ch_chain_find(&records, 0, &chain));
    ck_assert_uint_eq(chain.n, PES);
    ck_assert_uint_eq(chain.pes[1], 2);
    expect(&chain, "PE 0 waits for the word at +0x40 of the heap to be >= 2, which PE 2 wrote "
                   "last (set of 8 bytes at +0x40 of PE 0, value 1, ");
    expect(&chain, "; PE 2 waits for ");
    expect(&chain, "which PE 0 wrote last");
    expect(&chain, ": a cycle, if the PE that wrote a word last");
    expect(&chain, "; all 3 PEs of the job are in waits for words");
}
END_TEST

START_TEST(chain__a_pe_in_a_collective__waits_for_one_that_has_not_begun_it)
{
    struct ch_chain chain;

    make_records(true);
    for (uint32_t pe = 0; pe < PES; pe++)
        begin_barrier(pe, 1);
    for (uint32_t pe = 0; pe < PES; pe++)
        ch_record_mark(&all[pe], 1, CH_ENTRY_ENDED);
    write_word(1, 0, CH_ACCESS_add, WORD);
    begin_wait(0);
    begin_barrier(1, 2);
    ck_assert(ch_chain_find(&records, 0, &chain));
    expect(&chain, "; PE 1 is in barrier, call 2 of team 0, which PE 0 has not begun: a cycle");
    ck_assert_ptr_null(strstr(chain.text, "; all "));
    ck_assert(!ch_chain_find(&records, 1, &chain)); /* it is in no wait for words */
    ck_assert(!ch_chain_find(&records, 2, &chain));
}
END_TEST

START_TEST(chain__no_write_of_another_pe__says_what_is_known)
{
    const struct ch_records unknown = {record_of, NULL, PES};
    struct ch_chain chain;

    make_records(true);
    write_word(0, 0, CH_ACCESS_set, WORD);     /* its own */
    write_word(1, 0, CH_ACCESS_set, WORD + 8); /* another word */
    write_word(1, 0, CH_ACCESS_set, WORD - 8);
    write_word(1, 2, CH_ACCESS_set, WORD); /* of another PE */
    write_word(1, 0, CH_ACCESS_fetch, WORD);
    begin_wait(0);
    ck_assert(ch_chain_find(&records, 0, &chain));
    ck_assert_uint_eq(chain.n, 1);
    expect(&chain, ", to which the records have no write of another PE");
    ck_assert_ptr_null(strstr(chain.text, "cycle"));
    write_word(1, 0, CH_ACCESS_put, WORD - 7); /* its last byte */
    ck_assert(ch_chain_find(&records, 0, &chain));
    expect(&chain, "which PE 1 wrote last (put of 8 bytes at +0x39 of PE 0");
    expect(&chain, "; PE 1 is in no call of the library");
    ck_assert(!ch_chain_find(&unknown, 0, &chain));
}
END_TEST

START_TEST(chain__records_of_some_pes__do_not_say_that_nobody_wrote)
{
    const struct ch_records near = {record_near, all, PES};
    struct ch_chain chain;

    make_records(true);
    write_word(2, 0, CH_ACCESS_set, WORD);
    begin_wait(0);
    ck_assert(ch_chain_find(&near, 0, &chain));
    expect(&chain, "; who writes it is not known here, since the calls of 1 of 3 PEs are not; "
                   "chorusrun --record keeps those of all hosts");
    ck_assert_ptr_null(strstr(chain.text, "no write"));
    write_word(1, 0, CH_ACCESS_set, WORD);
    ck_assert(ch_chain_find(&near, 0, &chain));
    expect(&chain, ", which PE 1 wrote last");
    ck_assert_ptr_null(strstr(chain.text, "not known here"));
    make_records(false);
    begin_wait(0);
    ck_assert(ch_chain_find(&near, 0, &chain));
    expect(&chain, "; who writes it is not known without CHORUS_RECORD=full");
}
END_TEST

START_TEST(chain__records_without_accesses__tell_whether_all_wait)
{
    struct ch_chain chain;

    make_records(false);
    begin_wait(0);
    begin_wait(1);
    ck_assert(ch_chain_find(&records, 0, &chain));
    expect(&chain, "; who writes it is not known without CHORUS_RECORD=full");
    ck_assert_ptr_null(strstr(chain.text, "; all "));
    begin_wait(2);
    ck_assert(ch_chain_find(&records, 0, &chain));
    expect(&chain, "; all 3 PEs of the job are in waits for words");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("base deadlock");
    TCase *tcase = tcase_create("chain");
    SRunner *runner = srunner_create(suite);
    int n_failed;

    tcase_add_test(tcase, chain__a_ring_of_waits__is_a_cycle);
    tcase_add_test(tcase, chain__a_pe_in_a_collective__waits_for_one_that_has_not_begun_it);
    tcase_add_test(tcase, chain__no_write_of_another_pe__says_what_is_known);
    tcase_add_test(tcase, chain__records_of_some_pes__do_not_say_that_nobody_wrote);
    tcase_add_test(tcase, chain__records_without_accesses__tell_whether_all_wait);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_NORMAL);
    n_failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
