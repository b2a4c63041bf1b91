/* SPDX-License-Identifier: Apache-2.0 */
#include "coll/algorithm.h"

#include "coll/shape_nodes.h"
#include "coll/shape_rounds.h"
#include "team/sync.h"

/* The formulas of the list, as functions of the shape. */
#define VARIABLES(shape)                                                                      \
    const uint64_t n = (shape)->n, k = (shape)->k, m = (shape)->m;                            \
    const uint64_t e = (shape)->e, s = (shape)->s, c = (shape)->c;                            \
    const uint64_t p = (shape)->p, o = (shape)->o;                                            \
    const uint64_t b = (shape)->b, r = (shape)->r;                                            \
    const struct ch_nodes *const h = (shape)->h;                                              \
    (void)n, (void)k, (void)m, (void)e, (void)s, (void)c, (void)p, (void)o, (void)b, (void)r, \
        (void)h
#define X(coll, name, proto, fn, needs, radix, steps, wire, ...) \
    static uint64_t steps_##fn(const struct ch_shape *shape)     \
    {                                                            \
        VARIABLES(shape);                                        \
        return (steps);                                          \
    }                                                            \
    static uint64_t wire_##fn(const struct ch_shape *shape)      \
    {                                                            \
        VARIABLES(shape);                                        \
        return n == 1 ? 0 : (wire);                              \
    }
CH_ALGO_LIST(X)
#undef X

/* The needs of a protocol, for every algorithm. */
enum {
    NEEDS_signal = 0,
    NEEDS_simple = 0,
    NEEDS_ll = CH_NEED_packets,
    NEEDS_ll128 = CH_NEED_packets | CH_NEED_lines
};

const struct ch_algo ch_algos[CH_ALGO_COUNT] = {
#define X(COLL, NAME, PROTO, FN, NEEDS, RADIX, STEPS, WIRE, KERNEL) \
    {                                                               \
        .id = CH_ALGO_##FN,                                         \
        .coll = CHORUS_COLL_##COLL,                                 \
        .name = #NAME,                                              \
        .proto = CH_PROTO_##PROTO,                                  \
        .needs = (NEEDS) | NEEDS_##PROTO,                           \
        .takes_radix = (RADIX),                                     \
        .kernel = CH_KERNEL_##KERNEL,                               \
        .lanes_max = CH_LANES_##KERNEL,                             \
        .is_sliced = CH_IS_SLICED_##KERNEL,                         \
        .is_wide = CH_IS_WIDE_##KERNEL,                             \
        .steps_text = #STEPS,                                       \
        .wire_text = #WIRE,                                         \
        .steps = steps_##FN,                                        \
        .wire = wire_##FN,                                          \
    },
    CH_ALGO_LIST(X)
#undef X
};

const char *ch_algo_text(uint32_t id)
{
    static const char *const texts[CH_ALGO_COUNT] = {
#define X(coll, name, proto, ...) #name ":" #proto,
        CH_ALGO_LIST(X)
#undef X
    };

    return id < CH_ALGO_COUNT ? texts[id] : "an unknown algorithm";
}

const char *const ch_proto_names[CH_PROTO_COUNT] = {
#define X(proto) #proto,
    CH_PROTO_LIST(X)
#undef X
};

const char *const ch_coll_names[CHORUS_COLL_COUNT] = {
#define X(COLL) #COLL,
    CHORUS_COLL_LIST(X)
#undef X
};

const char *const ch_type_names[CHORUS_TYPE_COUNT] = {
#define X(T, ctype, class, bytes) #T,
    CHORUS_TYPE_LIST(X)
#undef X
};

const char *const ch_op_names[CHORUS_OP_COUNT] = {
#define X(OP) #OP,
    CHORUS_OP_LIST(X)
#undef X
};

const size_t ch_type_bytes[CHORUS_TYPE_COUNT] = {
#define X(T, ctype, class, bytes) bytes,
    CHORUS_TYPE_LIST(X)
#undef X
};

const size_t ch_type_align[CHORUS_TYPE_COUNT] = {
#define X(T, ctype, class, bytes) _Alignof(ctype),
    CHORUS_TYPE_LIST(X)
#undef X
};

#define X(name, ctype, kind) | 1u << (kind)
#define Y(OP, NAMES) [CHORUS_OP##OP] = 0 NAMES(CHORUS_ROW, X),
const uint32_t ch_op_types[CHORUS_OP_COUNT] = {CHORUS_REDUCE_LIST(Y)};
#undef Y
#undef X
