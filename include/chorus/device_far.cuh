/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_far.cuh: puts, gets, signals and atomics inside kernels for peers that are not near;
 * of chorus_device.cuh.
 *
 * Those of one thread are functions of their own, called by their addresses, so that a loop of
 * calls to a near peer has a branch for them, and no instructions. Copies, whose loops are in
 * the call, are inlined: beside a call they would have more than 64 registers.
 */
#ifndef CHORUS_DEVICE_FAR_CUH
#define CHORUS_DEVICE_FAR_CUH

#include "base/far.h"

/* The function, to be called by its address: of that the compiler knows the type alone, else it
 * would let a function that needs many registers, and its caller, have them. Each kernel with
 * such a call contains all functions of its file whose addresses are taken, so small ones are
 * called by name. */
template <typename F> CH_FN F *ch_by_address(F *function)
{
    asm volatile("" : "+l"(function));
    return function;
}

CH_FN struct ch_far ch_far_here(void)
{
    const struct ch_far far = {&ch_state.ring, ch_wait_policy_here()};

    return far;
}

/* The same in calls of one thread, which say so if there is no state. */
CH_FN struct ch_far ch_far_if_state(void)
{
    ch_expect_state();
    return ch_far_here();
}

/* The same object at such a peer, by its own address. */
CH_FN struct ch_there ch_there_of(const void *mine, int pe)
{
    const struct ch_there there = {(uint32_t)pe, (uint64_t)mine + (uint64_t)ch_shift_of(pe)};

    return there;
}

/* To a peer that is not near. waits: not nbi. */
CH_FN void ch_put_far(void *dest, const void *source, size_t bytes, struct ch_far_signal signal,
                      int pe, int waits, struct ch_lanes g)
{
    ch_expect_state();
    ch_report_far(
        ch_far_put(ch_far_here(), ch_there_of(dest, pe), source, bytes, signal, waits, g), pe,
        g);
}

CH_FN void ch_get_far(void *dest, const void *source, size_t bytes, int pe, int waits,
                      struct ch_lanes g)
{
    ch_expect_state();
    ch_report_far(ch_far_get(ch_far_here(), dest, ch_there_of(source, pe), bytes, waits, g), pe,
                  g);
}

/* --- of one thread ---------------------------------------------------------------------- */
/* For peers whose bit is set, also those of large jobs that are near. */
CH_FN void ch_signal_at(uint64_t *there, uint64_t signal, int adds)
{
    unsigned long long *at = (unsigned long long *)there;

    if (adds)
        (void)ch_bits_add(at, (unsigned long long)signal, 0);
    else
        ch_bits_store(at, (unsigned long long)signal);
}

/* An element's bits. */
CH_PART void ch_store_away(void *dest, uint64_t bits, uint32_t bytes, int pe)
{
    if (!ch_is_far(pe)) {
        char *const at = ch_at_pe((char *)dest, pe);

        if (bytes == 8)
            ch_bits_store((unsigned long long *)at, (unsigned long long)bits);
        else if (bytes == 4)
            ch_bits_store((unsigned *)at, (unsigned)bits);
        else if (bytes == 2)
            ch_bits_store((uint16_t *)at, (uint16_t)bits);
        else
            ch_bits_store((uint8_t *)at, (uint8_t)bits);
        return;
    }
    ch_report_far(ch_far_put_inline(ch_far_if_state(), ch_there_of(dest, pe), &bits, bytes), pe,
                  ch_lanes_of_thread());
}

CH_PART uint64_t ch_load_away(const void *source, uint32_t bytes, int pe)
{
    uint64_t bits;

    if (!ch_is_far(pe)) {
        const char *const at = ch_at_pe((const char *)source, pe);

        if (bytes == 8) return ch_bits_load((const unsigned long long *)at);
        if (bytes == 4) return ch_bits_load((const unsigned *)at);
        if (bytes == 2) return ch_bits_load((const uint16_t *)at);
        return ch_bits_load((const uint8_t *)at);
    }
    ch_report_far(ch_far_load(ch_far_if_state(), ch_there_of(source, pe), bytes, &bits), pe,
                  ch_lanes_of_thread());
    return bits;
}

CH_PART void ch_signal_away(uint64_t *sig_addr, uint64_t signal, int adds, int pe)
{
    if (ch_is_far(pe))
        ch_report_far(ch_far_signal(ch_far_if_state(), ch_there_of(sig_addr, pe), signal, adds),
                      pe, ch_lanes_of_thread());
    else
        ch_signal_at(ch_at_pe(sig_addr, pe), signal, adds);
}

/* What an atomic operation says besides its operands. asks: the old value is the result, else 0
 * is. */
struct ch_away_change {
    int pe;
    uint32_t op : 16, width : 8, asks : 8;
};

/* Change a word of this GPU or of one that is near. */
template <typename T> CH_FN T ch_bits_change(T *at, uint32_t op, T value, T compare)
{
    if (op == CH_AMO_SWAP) return ch_bits_swap(at, value);
    if (op == CH_AMO_COMPARE_SWAP) return ch_bits_compare_swap(at, compare, value);
    if (op == CH_AMO_ADD) return ch_bits_add(at, value, 1);
    if (op == CH_AMO_AND) return ch_bits_and(at, value, 1);
    if (op == CH_AMO_OR) return ch_bits_or(at, value, 1);
    if (op == CH_AMO_XOR) return ch_bits_xor(at, value, 1);
    if (op == CH_AMO_FETCH) return ch_bits_load(at);
    ch_bits_store(at, value);
    return value;
}

CH_PART uint64_t ch_change_away(void *dest, uint64_t value, uint64_t compare, uint64_t packed)
{
    struct ch_away_change change;
    struct ch_far_amo amo;
    chorus_status st;
    uint64_t old = 0;

    memcpy(&change, &packed, sizeof(change));
    if (!ch_is_far(change.pe)) {
        char *const at = ch_at_pe((char *)dest, change.pe);

        if (change.width == 8)
            return ch_bits_change((unsigned long long *)at, change.op,
                                  (unsigned long long)value, (unsigned long long)compare);
        return ch_bits_change((unsigned *)at, change.op, (unsigned)value, (unsigned)compare);
    }
    amo.op = change.op;
    amo.width = change.width;
    amo.value = value;
    amo.compare = compare;
    /* Two calls, as a variable whose address is chosen would be in local memory. */
    if (change.asks)
        st = ch_far_change(ch_far_if_state(), ch_there_of(dest, change.pe), amo, &old);
    else
        st = ch_far_change(ch_far_if_state(), ch_there_of(dest, change.pe), amo, 0);
    ch_report_far(st, change.pe, ch_lanes_of_thread());
    return old;
}

/* Wait for the requests of this thread. */
CH_PART void ch_quiet_away(void)
{
    ch_report_far(ch_far_quiet(ch_far_if_state()), (int)ch_state.world.me,
                  ch_lanes_of_thread());
}

CH_FN void ch_quiet_far(void)
{
    ch_quiet_away();
}

#endif /* CHORUS_DEVICE_FAR_CUH */
