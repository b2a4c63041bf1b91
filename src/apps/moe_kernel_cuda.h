/* SPDX-License-Identifier: Apache-2.0 */
/*
 * moe_kernel_cuda.h: the kernels of moe_gpu.h, in what C and CUDA C++ have in common, so that
 * tests run them on a CPU.
 *
 * Each block has a range of the tokens, and counts the entries of all tokens before it itself,
 * so that blocks do not wait for each other. The numbers of an expert's rows follow from counts
 * alone, and so do not depend on the number of blocks.
 */
#ifndef CH_APPS_MOE_KERNEL_CUDA_H
#define CH_APPS_MOE_KERNEL_CUDA_H

#include "apps/kernel_cuda.h"

#define CH_MOE_FN CH_FN
#include "apps/moe_gpu.h"
#include "apps/moe_values.h"

enum {
    CH_MOE_WARP = 32,
    CH_MOE_WARPS_MAX = CH_MOE_GPU_THREADS / CH_MOE_WARP,
    CH_MOE_INDICES_AHEAD = 8, /* loads of a lane that are under way together */
    CH_MOE_WORDS_AHEAD = 4,
    CH_MOE_ROWS_AHEAD = 8,
    CH_MOE_WORD_BYTES = 16,
};

/* --- the words of a call ------------------------------------------------------------------ */
/* All lanes of a block, after a barrier: all PEs, this one too, see what these lanes have
 * written, and then a word. */
CH_FN void ch_moe_tell(const struct ch_moe_gpu *moe, uint64_t *words)
{
    for (uint32_t p = threadIdx.x; p < moe->n_pes; p += blockDim.x) {
        if (moe->is_active[p] == 0) continue;
        chorus_fence();
        chorusx_signal_op(&words[moe->me], moe->numbers[p] + 1, CHORUS_SIGNAL_SET, moe->pes[p]);
    }
}

/* All lanes of a block: wait until all PEs have sent a word; 0: one has not. */
CH_FN int ch_moe_hear(const struct ch_moe_gpu *moe, uint64_t *words)
{
    int is_late = 0;

    for (uint32_t p = threadIdx.x; p < moe->n_pes; p += blockDim.x) {
        const uint64_t number = moe->numbers[p] + 1;

        if (moe->is_active[p] != 0 &&
            chorus_signal_wait_until(&words[p], CHORUS_CMP_GE, number) < number)
            is_late = 1;
    }
    if (is_late) moe->state->has_failed = 1;
    return !__syncthreads_or(is_late);
}

/* All lanes of a block: whether a call can begin. */
CH_FN int ch_moe_can_begin(const struct ch_moe_gpu *moe)
{
    return !__syncthreads_or(threadIdx.x == 0 && moe->state->has_failed != 0);
}

/* All lanes of one block. */
CH_FN void ch_moe_end_call(const struct ch_moe_gpu *moe)
{
    if (!ch_moe_hear(moe, moe->last)) return;
    for (uint32_t p = threadIdx.x; p < moe->n_pes; p += blockDim.x)
        if (moe->is_active[p] != 0) moe->numbers[p]++;
}

/* All lanes of each block, when it has done its part: the last block tells the peers. */
CH_FN void ch_moe_end_block(const struct ch_moe_gpu *moe, int waits)
{
    CH_SHARED(uint32_t, n_before);

    __syncthreads();
    if (threadIdx.x == 0) {
        chorus_fence(); /* what this block wrote is there before it counts, */
        *n_before = atomicAdd(&moe->state->n_done, 1u);
        chorus_fence(); /* and the last one tells what all have written */
    }
    __syncthreads();
    if (*n_before != gridDim.x - 1) return;
    if (threadIdx.x == 0) moe->state->n_done = 0;
    ch_moe_tell(moe, moe->last);
    if (waits) ch_moe_end_call(moe);
}

/* --- ranges ------------------------------------------------------------------------------- */
struct ch_moe_range {
    size_t lo, hi; /* tokens */
};

CH_FN struct ch_moe_range ch_moe_range_of_block(size_t n_tokens)
{
    const struct ch_moe_range range = {n_tokens * blockIdx.x / gridDim.x,
                                       n_tokens * (blockIdx.x + 1) / gridDim.x};

    return range;
}

/* What a warp has of a range: parts of tokens, if these are fewer than warps. */
struct ch_moe_share {
    size_t part, step, end; /* in parts */
    uint32_t parts;         /* of a token */
};

CH_FN struct ch_moe_share ch_moe_share_of_warp(struct ch_moe_range range)
{
    const uint32_t warps = blockDim.x / CH_MOE_WARP;
    const size_t n = range.hi - range.lo;
    struct ch_moe_share share = {threadIdx.x / CH_MOE_WARP, warps, n, 1};

    if (n > 0 && n < warps) share.parts = warps / (uint32_t)n;
    share.end = n * share.parts;
    return share;
}

/* The bytes of a token that a lane moves: `width` at a time, from `at` on. */
struct ch_moe_lane {
    size_t at, step, end;
};

CH_FN struct ch_moe_lane ch_moe_lane_of(const struct ch_moe_share *share, size_t part,
                                        size_t bytes, size_t width)
{
    const struct ch_moe_lane lane = {
        (part % share->parts * CH_MOE_WARP + threadIdx.x % CH_MOE_WARP) * width,
        share->parts * CH_MOE_WARP * width, bytes};

    return lane;
}

CH_FN ulonglong2 ch_moe_load(const char *at, size_t width)
{
    ulonglong2 word = {0, 0};

    if (width == CH_MOE_WORD_BYTES)
        word = *(const ulonglong2 *)at;
    else if (width == 4)
        word.x = *(const uint32_t *)at;
    else if (width == 2)
        word.x = *(const uint16_t *)at;
    else
        word.x = *(const unsigned char *)at;
    return word;
}

/* Of those that are not to be loaded, zeros. */
CH_FN ulonglong2 ch_moe_load_if(int holds, const char *at, size_t width)
{
    const ulonglong2 none = {0, 0};

    return holds ? ch_moe_load(at, width) : none;
}

CH_FN void ch_moe_store(char *at, ulonglong2 word, size_t width)
{
    if (width == CH_MOE_WORD_BYTES)
        *(ulonglong2 *)at = word;
    else if (width == 4)
        *(uint32_t *)at = (uint32_t)word.x;
    else if (width == 2)
        *(uint16_t *)at = (uint16_t)word.x;
    else
        *(unsigned char *)at = (unsigned char)word.x;
}

/* --- dispatch: counts --------------------------------------------------------------------- */
/* Of each expert, in the memory of a block. */
struct ch_moe_experts {
    uint32_t next[CH_MOE_GPU_EXPERTS_MAX];  /* entries of this PE, before one */
    uint32_t base[CH_MOE_GPU_EXPERTS_MAX];  /* rows of the PEs before this one */
    uint32_t first[CH_MOE_GPU_EXPERTS_MAX]; /* its first row in the array of its PE */
};

/* The expert of an entry; -1: none. */
CH_FN int32_t ch_moe_expert_of(const struct ch_moe_gpu *moe, int32_t entry)
{
    return entry >= 0 && (uint32_t)entry < moe->n_experts ? entry : -1;
}

CH_FN void ch_moe_note_bad(const struct ch_moe_gpu *moe, size_t at, int32_t entry)
{
    if (atomicAdd(&moe->state->n_bad, 1u) != 0) return;
    moe->state->bad_at = at;
    moe->state->bad_value = entry;
}

/* All lanes of a block: count the first n entries in next. */
CH_FN void ch_moe_count(const struct ch_moe_gpu *moe, const int32_t *idx, size_t n,
                        uint32_t *next)
{
    int32_t entries[CH_MOE_INDICES_AHEAD];

    for (uint32_t e = threadIdx.x; e < moe->n_experts; e += blockDim.x)
        next[e] = 0;
    __syncthreads();
    for (size_t at = threadIdx.x; at < n; at += CH_MOE_INDICES_AHEAD * (size_t)blockDim.x) {
        for (int i = 0; i < CH_MOE_INDICES_AHEAD; i++) {
            const size_t k = at + (size_t)i * blockDim.x;

            entries[i] = k < n ? idx[k] : -1;
        }
        for (int i = 0; i < CH_MOE_INDICES_AHEAD; i++) {
            const int32_t e = ch_moe_expert_of(moe, entries[i]);

            if (e >= 0)
                (void)atomicAdd(&next[e], 1u);
            else if (entries[i] != -1 && blockIdx.x == 0)
                ch_moe_note_bad(moe, at + (size_t)i * blockDim.x, entries[i]);
        }
    }
    __syncthreads();
}

/* All lanes of block 0, which has counted all entries. */
CH_FN void ch_moe_tell_counts(const struct ch_moe_gpu *moe, const uint32_t *count)
{
    for (uint32_t p = 0; p < moe->n_pes; p++) {
        uint32_t *there;

        if (moe->is_active[p] == 0) continue;
        there =
            (uint32_t *)chorus_ptr(moe->counts, moe->pes[p]) + (size_t)moe->me * moe->n_experts;
        for (uint32_t e = threadIdx.x; e < moe->n_experts; e += blockDim.x)
            there[e] = moe->is_on[e] != 0 ? count[e] : 0;
    }
    __syncthreads();
    ch_moe_tell(moe, moe->first);
}

/* The lanes of a warp that have the same expert, by its bits. */
CH_FN uint32_t ch_moe_equals(const struct ch_moe_gpu *moe, int32_t expert)
{
    uint32_t equals = ~0u;

    for (int bit = 0; moe->n_experts >> bit != 0; bit++) { /* -1 has all of them */
        const uint32_t set = __ballot_sync(~0u, expert >> bit & 1);

        equals &= (expert >> bit & 1) != 0 ? set : ~set;
    }
    return equals;
}

/* All lanes of a warp: the next 32 entries, in order. */
CH_FN void ch_moe_rank(const struct ch_moe_gpu *moe, int32_t expert, size_t at, uint32_t *next)
{
    const uint32_t equals = ch_moe_equals(moe, expert),
                   before = equals & ((1u << threadIdx.x % CH_MOE_WARP) - 1);
    const uint32_t rank = expert >= 0 ? next[expert] + (uint32_t)__popc(before) : 0;

    if (expert >= 0) moe->places[at].row = rank;
    __syncwarp(); /* all have read next */
    if (expert >= 0 && before == 0) next[expert] = rank + (uint32_t)__popc(equals);
    __syncwarp();
}

/* All lanes of warp 0: to each entry of a range its number among those of the same expert. */
CH_FN void ch_moe_rank_range(const struct ch_moe_gpu *moe, const int32_t *idx,
                             struct ch_moe_range range, uint32_t *next)
{
    const size_t end = range.hi * moe->topk;
    int32_t experts[CH_MOE_INDICES_AHEAD];

    for (size_t at = range.lo * moe->topk + threadIdx.x; at - threadIdx.x < end;
         at += CH_MOE_INDICES_AHEAD * CH_MOE_WARP) {
        for (size_t i = 0; i < CH_MOE_INDICES_AHEAD; i++) {
            const size_t k = at + i * CH_MOE_WARP;

            experts[i] = k < end ? ch_moe_expert_of(moe, idx[k]) : -1;
        }
        for (size_t i = 0; i < CH_MOE_INDICES_AHEAD; i++)
            ch_moe_rank(moe, experts[i], at + i * CH_MOE_WARP, next);
    }
}

/* --- dispatch: rows ----------------------------------------------------------------------- */
/* All lanes of a block, when all counts are there: base, and in first the rows of each expert
 * within the capacity. */
CH_FN void ch_moe_sum_counts(const struct ch_moe_gpu *moe, struct ch_moe_experts *experts)
{
    for (uint32_t e = threadIdx.x; e < moe->n_experts; e += blockDim.x) {
        uint32_t sum = 0, base = 0;

        for (uint32_t p = 0; p < moe->n_pes; p++) {
            if (p == moe->me) base = sum;
            if (moe->is_active[p] != 0) sum += moe->counts[(size_t)p * moe->n_experts + e];
        }
        experts->base[e] = base;
        experts->first[e] = moe->capacity != 0 && sum > moe->capacity ? moe->capacity : sum;
    }
    __syncthreads();
}

/* All lanes of a block: first, and how many rows each expert of this PE has. */
CH_FN void ch_moe_set_first(const struct ch_moe_gpu *moe, struct ch_moe_experts *experts,
                            uint32_t *counts)
{
    const uint32_t each = moe->experts_each;

    for (uint32_t p = threadIdx.x; p < moe->n_pes; p += blockDim.x) {
        uint32_t row = 0;

        for (uint32_t i = 0; i < each; i++) {
            const uint32_t e = p * each + i, n = experts->first[e];
            const uint32_t first = moe->is_compact ? row : i * moe->capacity;
            const uint32_t room = first < moe->rows_max ? moe->rows_max - first : 0;

            experts->first[e] = first;
            if (p == moe->me && blockIdx.x == 0) counts[i] = n < room ? n : room;
            row += n;
        }
    }
    __syncthreads();
}

/* The place of an entry that has its number in row. */
CH_FN struct ch_moe_place ch_moe_place_of(const struct ch_moe_gpu *moe,
                                          const struct ch_moe_experts *experts, int32_t expert,
                                          uint32_t row)
{
    struct ch_moe_place place = {CH_MOE_EMPTY, 0};
    uint32_t rank;

    if (expert < 0) return place;
    place.pe = CH_MOE_LEFT_OUT;
    if (moe->is_on[expert] == 0) return place;
    rank = experts->base[expert] + row;
    if (moe->capacity != 0 && rank >= moe->capacity) return place;
    place.row = experts->first[expert] + rank;
    if (place.row < moe->rows_max) place.pe = expert / (int32_t)moe->experts_each;
    return place;
}

/* All lanes of a block. */
CH_FN void ch_moe_place_range(const struct ch_moe_gpu *moe, const int32_t *idx,
                              struct ch_moe_range range, const struct ch_moe_experts *experts)
{
    unsigned long long dropped = 0;

    for (size_t at = range.lo * moe->topk + threadIdx.x; at < range.hi * moe->topk;
         at += blockDim.x) {
        const int32_t expert = ch_moe_expert_of(moe, idx[at]);

        moe->places[at] = ch_moe_place_of(moe, experts, expert, moe->places[at].row);
        if (moe->places[at].pe == CH_MOE_LEFT_OUT && moe->is_on[expert] != 0) dropped++;
    }
    if (dropped > 0) (void)atomicAdd(&moe->state->dropped, dropped);
    __syncthreads();
}

/* --- dispatch: tokens --------------------------------------------------------------------- */
/* Where the token of a warp goes, by its entries. Null: nowhere. */
struct ch_moe_targets {
    char *rows[CH_MOE_GPU_TOPK_MAX], *scales[CH_MOE_GPU_TOPK_MAX];
};

struct ch_moe_targets_of_warps {
    struct ch_moe_targets of[CH_MOE_WARPS_MAX];
};

CH_FN void ch_moe_find_targets(const struct ch_moe_gpu *moe,
                               const struct ch_moe_gpu_dispatch *call, size_t token,
                               struct ch_moe_targets *targets)
{
    const uint32_t k = threadIdx.x % CH_MOE_WARP;
    struct ch_moe_place place;

    if (k >= moe->topk) return;
    place = moe->places[token * moe->topk + k];
    targets->rows[k] = targets->scales[k] = 0;
    if (place.pe < 0) return;
    targets->rows[k] =
        (char *)chorus_ptr(call->out, moe->pes[place.pe]) + place.row * moe->hidden_bytes;
    if (moe->scale_bytes != 0)
        targets->scales[k] = (char *)chorus_ptr(call->out_scales, moe->pes[place.pe]) +
                             place.row * moe->scale_bytes;
}

/* `from` is read once. */
CH_FN void ch_moe_spread_words(char *const *to, uint32_t n, const char *from,
                               struct ch_moe_lane lane, size_t width)
{
    ulonglong2 words[CH_MOE_WORDS_AHEAD];

    for (; lane.at < lane.end; lane.at += CH_MOE_WORDS_AHEAD * lane.step) {
        for (size_t i = 0; i < CH_MOE_WORDS_AHEAD; i++)
            words[i] = ch_moe_load_if(lane.at + i * lane.step < lane.end,
                                      from + lane.at + i * lane.step, width);
        for (uint32_t k = 0; k < n; k++)
            for (size_t i = 0; to[k] != 0 && i < CH_MOE_WORDS_AHEAD; i++)
                if (lane.at + i * lane.step < lane.end)
                    ch_moe_store(to[k] + lane.at + i * lane.step, words[i], width);
    }
}

/* How wide words may be of which rows of an array consist. */
CH_FN size_t ch_moe_width_of(const void *from, const void *to, size_t row_bytes)
{
    const size_t all = (uintptr_t)from | (uintptr_t)to | row_bytes;

    return all % CH_MOE_WORD_BYTES == 0 ? CH_MOE_WORD_BYTES : all % 4 == 0 ? 4 : 1;
}

CH_FN void ch_moe_spread_row(const struct ch_moe_gpu *moe, char *const *to, const char *from,
                             const struct ch_moe_share *share, size_t bytes, size_t width)
{
    const struct ch_moe_lane lane = ch_moe_lane_of(share, share->part, bytes, width);

    if (width == CH_MOE_WORD_BYTES)
        ch_moe_spread_words(to, moe->topk, from, lane, CH_MOE_WORD_BYTES);
    else if (width == 4)
        ch_moe_spread_words(to, moe->topk, from, lane, 4);
    else
        ch_moe_spread_words(to, moe->topk, from, lane, 1);
}

/* All lanes of a block: its tokens, to all their rows. */
CH_FN void ch_moe_send(const struct ch_moe_gpu *moe, const struct ch_moe_gpu_dispatch *call,
                       struct ch_moe_range range)
{
    CH_SHARED(struct ch_moe_targets_of_warps, all);
    struct ch_moe_targets *const targets = &all->of[threadIdx.x / CH_MOE_WARP];
    const size_t width = ch_moe_width_of(call->x, call->out, moe->hidden_bytes),
                 scale_width =
                     ch_moe_width_of(call->scales, call->out_scales, moe->scale_bytes);
    struct ch_moe_share share = ch_moe_share_of_warp(range);

    for (; share.part < share.end; share.part += share.step) {
        const size_t token = range.lo + share.part / share.parts;

        ch_moe_find_targets(moe, call, token, targets);
        __syncwarp();
        ch_moe_spread_row(moe, targets->rows, call->x + token * moe->hidden_bytes, &share,
                          moe->hidden_bytes, width);
        ch_moe_spread_row(moe, targets->scales, call->scales + token * moe->scale_bytes, &share,
                          moe->scale_bytes, scale_width);
        __syncwarp();
    }
}

CH_FN void ch_moe_dispatch_kernel(const struct ch_moe_gpu *moe,
                                  const struct ch_moe_gpu_dispatch *call)
{
    CH_SHARED(struct ch_moe_experts, experts);
    const struct ch_moe_range range = ch_moe_range_of_block(call->n_tokens);
    const size_t n_all = call->n_tokens * moe->topk;

    if (!ch_moe_can_begin(moe)) return;
    if (blockIdx.x == 0) {
        ch_moe_count(moe, call->topk_idx, n_all, experts->next);
        ch_moe_tell_counts(moe, experts->next);
        if (threadIdx.x == 0) moe->state->n_tokens = call->n_tokens;
        ch_moe_count(moe, call->topk_idx, 0, experts->next);
    } else {
        ch_moe_count(moe, call->topk_idx, range.lo * moe->topk, experts->next);
    }
    if (threadIdx.x < CH_MOE_WARP) ch_moe_rank_range(moe, call->topk_idx, range, experts->next);
    if (!ch_moe_hear(moe, moe->first)) return;
    ch_moe_sum_counts(moe, experts);
    ch_moe_set_first(moe, experts, call->counts);
    ch_moe_place_range(moe, call->topk_idx, range, experts);
    ch_moe_send(moe, call, range);
    ch_moe_end_block(moe, call->waits);
}

/* --- combine ------------------------------------------------------------------------------ */
/* The summands of the token of a warp. */
struct ch_moe_summands {
    const char *rows[CH_MOE_GPU_TOPK_MAX];
    float weights[CH_MOE_GPU_TOPK_MAX];
    int32_t pe_of[CH_MOE_GPU_TOPK_MAX];
    uint32_t n;
};

struct ch_moe_summands_of_warps {
    struct ch_moe_summands of[CH_MOE_WARPS_MAX];
};

/* Lane 0 of a warp: leave those that there are, with their factor. */
CH_FN void ch_moe_settle_summands(const struct ch_moe_gpu *moe,
                                  struct ch_moe_summands *summands)
{
    const float factor = moe->renormalises
                             ? ch_moe_factor((int)moe->topk, summands->pe_of, summands->weights)
                             : 1.0f;

    summands->n = 0;
    for (uint32_t k = 0; k < moe->topk; k++) {
        if (summands->pe_of[k] < 0) continue;
        summands->rows[summands->n] = summands->rows[k];
        summands->weights[summands->n++] = summands->weights[k] * factor;
    }
}

CH_FN void ch_moe_find_summands(const struct ch_moe_gpu *moe,
                                const struct ch_moe_gpu_combine *call, size_t token,
                                struct ch_moe_summands *summands)
{
    const uint32_t k = threadIdx.x % CH_MOE_WARP;
    const size_t at = token * moe->topk + k;

    if (k < moe->topk) {
        const struct ch_moe_place place = moe->places[at];

        summands->pe_of[k] = place.pe;
        summands->weights[k] = call->weights != 0 ? call->weights[at] : 1.0f;
        summands->rows[k] = place.pe < 0
                                ? 0
                                : (const char *)chorus_ptr(call->y, moe->pes[place.pe]) +
                                      place.row * moe->combine_bytes;
    }
    __syncwarp();
    if (k == 0) ch_moe_settle_summands(moe, summands);
    __syncwarp();
}

CH_FN size_t ch_moe_gpu_value_bytes(uint32_t type)
{
    return type == CHORUS_TYPE_f32 ? 4 : 2;
}

/* Value i of a word. */
CH_FN float ch_moe_value_of(const ulonglong2 *word, size_t i, uint32_t type)
{
    const char *at = (const char *)word + i * ch_moe_gpu_value_bytes(type);
    uint16_t half;
    float value;

    if (type == CHORUS_TYPE_f32) {
        memcpy(&value, at, sizeof(value));
        return value;
    }
    memcpy(&half, at, sizeof(half));
    return type == CHORUS_TYPE_bf16 ? ch_moe_from_bf16(half) : ch_moe_from_f16(half);
}

CH_FN void ch_moe_set_value(ulonglong2 *word, size_t i, uint32_t type, float value)
{
    char *at = (char *)word + i * ch_moe_gpu_value_bytes(type);
    uint16_t half;

    if (type == CHORUS_TYPE_f32) {
        memcpy(at, &value, sizeof(value));
        return;
    }
    half = type == CHORUS_TYPE_bf16 ? ch_moe_to_bf16(value) : ch_moe_to_f16(value);
    memcpy(at, &half, sizeof(half));
}

CH_FN void ch_moe_add_word(float *sums, const ulonglong2 *word, float weight, int is_first,
                           uint32_t type, size_t values)
{
    for (size_t i = 0; i < values; i++) {
        const float product = weight * ch_moe_value_of(word, i, type);

        sums[i] = is_first ? product : sums[i] + product;
    }
}

/* The sums of the values at a byte of the rows, rounded. */
CH_FN ulonglong2 ch_moe_sum_of(const struct ch_moe_summands *summands, size_t at, uint32_t type,
                               size_t width)
{
    const size_t values = width / ch_moe_gpu_value_bytes(type);
    float sums[CH_MOE_WORD_BYTES / 2] = {0};
    ulonglong2 words[CH_MOE_ROWS_AHEAD], sum = {0, 0};

    for (uint32_t k = 0; k < summands->n; k += CH_MOE_ROWS_AHEAD) {
        for (uint32_t j = 0; j < CH_MOE_ROWS_AHEAD; j++)
            words[j] = ch_moe_load_if(k + j < summands->n, summands->rows[k + j] + at, width);
        for (uint32_t j = 0; j < CH_MOE_ROWS_AHEAD; j++)
            if (k + j < summands->n)
                ch_moe_add_word(sums, &words[j], summands->weights[k + j], k + j == 0, type,
                                values);
    }
    for (size_t i = 0; i < values; i++)
        ch_moe_set_value(&sum, i, type, sums[i]);
    return sum;
}

CH_FN void ch_moe_add_words(const struct ch_moe_summands *summands, char *out,
                            struct ch_moe_lane lane, uint32_t type, size_t width)
{
    for (; lane.at < lane.end; lane.at += lane.step)
        ch_moe_store(out + lane.at, ch_moe_sum_of(summands, lane.at, type, width), width);
}

CH_FN void ch_moe_add_row(const struct ch_moe_summands *summands, char *out,
                          struct ch_moe_lane lane, uint32_t type, size_t width)
{
    if (width == CH_MOE_WORD_BYTES)
        ch_moe_add_words(summands, out, lane, type, CH_MOE_WORD_BYTES);
    else
        ch_moe_add_words(summands, out, lane, type, ch_moe_gpu_value_bytes(type));
}

/* All lanes of a block: the sums of its tokens, of a type that is known where it is compiled.
 */
CH_FN void ch_moe_add_range(const struct ch_moe_gpu *moe, const struct ch_moe_gpu_combine *call,
                            struct ch_moe_range range, uint32_t type)
{
    CH_SHARED(struct ch_moe_summands_of_warps, all);
    struct ch_moe_summands *const summands = &all->of[threadIdx.x / CH_MOE_WARP];
    const size_t width =
        ch_moe_width_of(call->y, call->out, moe->combine_bytes) == CH_MOE_WORD_BYTES
            ? CH_MOE_WORD_BYTES
            : ch_moe_gpu_value_bytes(type);
    struct ch_moe_share share = ch_moe_share_of_warp(range);

    for (; share.part < share.end; share.part += share.step) {
        const size_t token = range.lo + share.part / share.parts;

        ch_moe_find_summands(moe, call, token, summands);
        ch_moe_add_row(summands, call->out + token * moe->combine_bytes,
                       ch_moe_lane_of(&share, share.part, moe->combine_bytes, width), type,
                       width);
        __syncwarp();
    }
}

CH_FN void ch_moe_combine_kernel(const struct ch_moe_gpu *moe,
                                 const struct ch_moe_gpu_combine *call)
{
    struct ch_moe_range range;

    if (!ch_moe_can_begin(moe)) return;
    range = ch_moe_range_of_block(moe->state->n_tokens);
    if (blockIdx.x == 0) ch_moe_tell(moe, moe->first); /* y is there: kernels before wrote it */
    if (!ch_moe_hear(moe, moe->first)) return;
    if (call->type == CHORUS_TYPE_f32)
        ch_moe_add_range(moe, call, range, CHORUS_TYPE_f32);
    else if (call->type == CHORUS_TYPE_bf16)
        ch_moe_add_range(moe, call, range, CHORUS_TYPE_bf16);
    else
        ch_moe_add_range(moe, call, range, CHORUS_TYPE_f16);
    ch_moe_end_block(moe, call->waits);
}

/* One block. */
CH_FN void ch_moe_end_kernel(const struct ch_moe_gpu *moe)
{
    if (ch_moe_can_begin(moe)) ch_moe_end_call(moe);
}

#endif /* CH_APPS_MOE_KERNEL_CUDA_H */
