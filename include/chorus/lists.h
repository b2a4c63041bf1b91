/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chorus/lists.h: the one list of everything that is enumerable in the API.
 *
 * Enum values, declarations, definitions, dispatch tables, the test matrix and the tools'
 * output are all expansions of these. Add a row here and nowhere else; values are ABI, so
 * append only.
 */
#ifndef CHORUS_LISTS_H
#define CHORUS_LISTS_H

#include <stddef.h>
#include <stdint.h>

/* Storage of the two 16-bit floating types: IEEE binary16 and bfloat16 bit patterns. */
#ifndef CHORUS_HALF /* nvshmem.h names CUDA's types, which have the same form */
typedef struct chorus_half {
    uint16_t bits;
} chorus_half;
typedef struct chorus_bfloat16 {
    uint16_t bits;
} chorus_bfloat16;
#else
typedef CHORUS_HALF chorus_half;
typedef CHORUS_BFLOAT16 chorus_bfloat16;
#endif

/* clang-format off */

/* Element types as the machine sees them: suffix, C type, class, bytes. */
#define CHORUS_TYPE_LIST(X)               \
    X(i8, int8_t, INT, 1)                 \
    X(i16, int16_t, INT, 2)               \
    X(i32, int32_t, INT, 4)               \
    X(i64, int64_t, INT, 8)               \
    X(u8, uint8_t, UINT, 1)               \
    X(u16, uint16_t, UINT, 2)             \
    X(u32, uint32_t, UINT, 4)             \
    X(u64, uint64_t, UINT, 8)             \
    X(f16, chorus_half, HALF, 2)          \
    X(bf16, chorus_bfloat16, HALF, 2)     \
    X(f32, float, FLOAT, 4)               \
    X(f64, double, FLOAT, 8)              \
    X(f80, long double, FLOAT, 16)        \
    X(c64, float _Complex, COMPLEX, 8)    \
    X(c128, double _Complex, COMPLEX, 16)

typedef enum chorus_type {
#define X(T, ctype, class, bytes) CHORUS_TYPE_##T,
    CHORUS_TYPE_LIST(X)
#undef X
    CHORUS_TYPE_COUNT
} chorus_type;

#ifdef __CHAR_UNSIGNED__
#define CHORUS_TYPE_char CHORUS_TYPE_u8
#else
#define CHORUS_TYPE_char CHORUS_TYPE_i8
#endif

/* Where symmetric objects are; auto: on GPUs if every PE has one. */
#define CHORUS_HEAP_LIST(X) X(auto) X(host) X(cuda)

typedef enum chorus_heap {
#define X(name) CHORUS_HEAP_##name,
    CHORUS_HEAP_LIST(X)
#undef X
    CHORUS_HEAP_COUNT
} chorus_heap;

/* Reduction operators. */
#define CHORUS_OP_LIST(X) X(and) X(or) X(xor) X(min) X(max) X(sum) X(prod)

typedef enum chorus_op {
#define X(OP) CHORUS_OP_##OP,
    CHORUS_OP_LIST(X)
#undef X
    CHORUS_OP_COUNT
} chorus_op;

/*
 * Collectives as rules, tools and logs name them (sync is a barrier without the quiet). A row is
 * R(A, name, dest, source, root, work, overlap, prefix), whatever A is:
 *
 *   dest, source  what a PE's buffer has: none; one block of `count` elements; all: a block for
 *                 each PE of the team; elements of all with strides; blocks of other lengths
 *   root          none; from: only its source is read; to: only its dest is written
 *   work          copies, combines the elements of all PEs, or scans: those of the PEs up to
 *                 this one
 *   overlap       how dest and source may: apart; same: dest is source; in_dest: source is
 *                 this PE's block of dest; in_source: same, or dest is this PE's block of source
 *   prefix        of its blocking functions: chorus, or chorusx as on streams; none: no function
 *                 has its name, and chorusx_collective makes its calls
 */
#define CHORUS_COLL_ROWS(R, A)                                          \
    R(A, barrier, none, none, none, copies, apart, none)                \
    R(A, broadcast, one, one, from, copies, same, chorus)               \
    R(A, fcollect, all, one, none, copies, in_dest, chorus)             \
    R(A, alltoall, all, all, none, copies, apart, chorus)               \
    R(A, reduce, one, one, none, combines, same, chorus)                \
    R(A, reducescatter, one, all, none, combines, in_source, chorus)    \
    R(A, collect, lengths, one, none, copies, apart, chorus)            \
    R(A, alltoalls, strides, strides, none, copies, apart, chorus)      \
    R(A, inscan, one, one, none, scans, same, chorus)                   \
    R(A, exscan, one, one, none, scans, same, chorus)                   \
    R(A, gather, all, one, to, copies, apart, chorusx)                  \
    R(A, scatter, one, all, from, copies, apart, chorusx)               \
    R(A, reduce_to, one, one, to, combines, same, chorusx)              \
    R(A, alltoallv, lengths, lengths, none, copies, apart, chorusx)
#define CHORUS_COLL_NAME(X, COLL, ...) X(COLL)
#define CHORUS_COLL_LIST(X) CHORUS_COLL_ROWS(CHORUS_COLL_NAME, X)

typedef enum chorus_coll {
#define X(COLL) CHORUS_COLL_##COLL,
    CHORUS_COLL_LIST(X)
#undef X
    CHORUS_COLL_COUNT
} chorus_coll;

/*
 * API type names: name in function names, C type, element type above. The names in pieces, then
 * three lists for each family of functions: CTYPES has each C type once, as _Generic needs it;
 * NAMES, of reductions, has the further names of those too; both are expanded as R(A, name, ...),
 * whatever A is. TYPES has the same as NAMES, as X(name, ...).
 */
#define CHORUS_ROW(X, NAME, T, kind) X(NAME, T, kind)

#define CHORUS_INTS(R, A)                                               \
    R(A, int, int, CHORUS_TYPE_i32)                                     \
    R(A, long, long, CHORUS_TYPE_i64)                                   \
    R(A, longlong, long long, CHORUS_TYPE_i64)
#define CHORUS_UINTS(R, A)                                              \
    R(A, uint, unsigned int, CHORUS_TYPE_u32)                           \
    R(A, ulong, unsigned long, CHORUS_TYPE_u64)                         \
    R(A, ulonglong, unsigned long long, CHORUS_TYPE_u64)
#define CHORUS_SMALL_UINTS(R, A)                                        \
    R(A, uchar, unsigned char, CHORUS_TYPE_u8)                          \
    R(A, ushort, unsigned short, CHORUS_TYPE_u16)
#define CHORUS_FLOATS(R, A)                                             \
    R(A, float, float, CHORUS_TYPE_f32)                                 \
    R(A, double, double, CHORUS_TYPE_f64)

#define CHORUS_FIXED_INTS(R, A)                                         \
    R(A, int32, int32_t, CHORUS_TYPE_i32)                               \
    R(A, int64, int64_t, CHORUS_TYPE_i64)
#define CHORUS_FIXED_UINTS(R, A)                                        \
    R(A, uint32, uint32_t, CHORUS_TYPE_u32)                             \
    R(A, uint64, uint64_t, CHORUS_TYPE_u64)
#define CHORUS_SMALL_FIXED_INTS(R, A)                                   \
    R(A, int8, int8_t, CHORUS_TYPE_i8)                                  \
    R(A, int16, int16_t, CHORUS_TYPE_i16)
#define CHORUS_SMALL_FIXED_UINTS(R, A)                                  \
    R(A, uint8, uint8_t, CHORUS_TYPE_u8)                                \
    R(A, uint16, uint16_t, CHORUS_TYPE_u16)
#define CHORUS_FIXED_WORDS(R, A)                                        \
    CHORUS_FIXED_INTS(R, A)                                             \
    CHORUS_FIXED_UINTS(R, A)                                            \
    R(A, size, size_t, CHORUS_TYPE_u64)                                 \
    R(A, ptrdiff, ptrdiff_t, CHORUS_TYPE_i64)
#define CHORUS_FIXED(R, A)                                              \
    CHORUS_FIXED_WORDS(R, A)                                            \
    CHORUS_SMALL_FIXED_INTS(R, A)                                       \
    CHORUS_SMALL_FIXED_UINTS(R, A)

/* Reductions. */
#define CHORUS_REDUCE_BITWISE_CTYPES(R, A)                              \
    CHORUS_UINTS(R, A)                                                  \
    CHORUS_SMALL_UINTS(R, A)                                            \
    CHORUS_FIXED_INTS(R, A)                                             \
    CHORUS_SMALL_FIXED_INTS(R, A)
#define CHORUS_REDUCE_BITWISE_NAMES(R, A)                               \
    CHORUS_REDUCE_BITWISE_CTYPES(R, A)                                  \
    CHORUS_FIXED_UINTS(R, A)                                            \
    CHORUS_SMALL_FIXED_UINTS(R, A)                                      \
    R(A, size, size_t, CHORUS_TYPE_u64)

/* The ordered ones of every standard and machine, then those that GPUs have too. */
#define CHORUS_PLAIN_CTYPES(R, A)                                       \
    CHORUS_INTS(R, A)                                                   \
    CHORUS_UINTS(R, A)                                                  \
    CHORUS_SMALL_UINTS(R, A)                                            \
    CHORUS_FLOATS(R, A)                                                 \
    R(A, char, char, CHORUS_TYPE_char)                                  \
    R(A, schar, signed char, CHORUS_TYPE_i8)                            \
    R(A, short, short, CHORUS_TYPE_i16)
#define CHORUS_DEVICE_CTYPES(R, A)                                      \
    CHORUS_PLAIN_CTYPES(R, A)                                           \
    R(A, half, chorus_half, CHORUS_TYPE_f16)                            \
    R(A, bfloat16, chorus_bfloat16, CHORUS_TYPE_bf16)
#define CHORUS_DEVICE_NAMES(R, A)                                       \
    CHORUS_DEVICE_CTYPES(R, A)                                          \
    CHORUS_FIXED(R, A)
#define CHORUS_DEVICE_TYPES(X) CHORUS_DEVICE_NAMES(CHORUS_ROW, X)

#define CHORUS_REDUCE_ORDERED_CTYPES(R, A)                              \
    CHORUS_DEVICE_CTYPES(R, A)                                          \
    R(A, longdouble, long double, CHORUS_TYPE_f80)
#define CHORUS_REDUCE_ORDERED_NAMES(R, A)                               \
    CHORUS_REDUCE_ORDERED_CTYPES(R, A)                                  \
    CHORUS_FIXED(R, A)
#define CHORUS_REDUCE_ORDERED_TYPES(X) CHORUS_REDUCE_ORDERED_NAMES(CHORUS_ROW, X)

#define CHORUS_REDUCE_ARITHMETIC_CTYPES(R, A)                           \
    CHORUS_REDUCE_ORDERED_CTYPES(R, A)                                  \
    R(A, complexf, float _Complex, CHORUS_TYPE_c64)                     \
    R(A, complexd, double _Complex, CHORUS_TYPE_c128)
#define CHORUS_REDUCE_ARITHMETIC_NAMES(R, A)                            \
    CHORUS_REDUCE_ARITHMETIC_CTYPES(R, A)                               \
    CHORUS_FIXED(R, A)
#define CHORUS_REDUCE_ARITHMETIC_TYPES(X) CHORUS_REDUCE_ARITHMETIC_NAMES(CHORUS_ROW, X)

/* Which types each operator takes: the operator with a _ before it, since a program may define
 * its name (and, or and xor in <iso646.h>), and the list of types. Expanded as Y(_op, NAMES),
 * which passes the operator on to each row by NAMES(R, _op). */
#define CHORUS_REDUCE_LIST(Y)                 \
    Y(_and, CHORUS_REDUCE_BITWISE_NAMES)      \
    Y(_or, CHORUS_REDUCE_BITWISE_NAMES)       \
    Y(_xor, CHORUS_REDUCE_BITWISE_NAMES)      \
    Y(_min, CHORUS_REDUCE_ORDERED_NAMES)      \
    Y(_max, CHORUS_REDUCE_ORDERED_NAMES)      \
    Y(_sum, CHORUS_REDUCE_ARITHMETIC_NAMES)   \
    Y(_prod, CHORUS_REDUCE_ARITHMETIC_NAMES)

/* The same in kernels. */
#define CHORUS_DEVICE_REDUCE_LIST(Y)          \
    Y(_and, CHORUS_REDUCE_BITWISE_NAMES)      \
    Y(_or, CHORUS_REDUCE_BITWISE_NAMES)       \
    Y(_xor, CHORUS_REDUCE_BITWISE_NAMES)      \
    Y(_min, CHORUS_DEVICE_NAMES)              \
    Y(_max, CHORUS_DEVICE_NAMES)              \
    Y(_sum, CHORUS_DEVICE_NAMES)              \
    Y(_prod, CHORUS_DEVICE_NAMES)

/* Types of put, get, p, g and of the typed collectives that only move data. */
#define CHORUS_RMA_CTYPES(R, A) CHORUS_REDUCE_ORDERED_CTYPES(R, A)
#define CHORUS_RMA_TYPES(X) CHORUS_REDUCE_ORDERED_TYPES(X)

/* Sized transfers: bits, bytes. */
#define CHORUS_SIZES(X) X(8, 1) X(16, 2) X(32, 4) X(64, 8) X(128, 16)

/* Atomics. */
#define CHORUS_AMO_BITWISE_CTYPES(R, A)                                 \
    CHORUS_UINTS(R, A)                                                  \
    CHORUS_FIXED_INTS(R, A)
#define CHORUS_AMO_BITWISE_TYPES(X)                                     \
    CHORUS_AMO_BITWISE_CTYPES(CHORUS_ROW, X)                            \
    CHORUS_FIXED_UINTS(CHORUS_ROW, X)

#define CHORUS_AMO_STANDARD_CTYPES(R, A) CHORUS_INTS(R, A) CHORUS_UINTS(R, A)
#define CHORUS_AMO_STANDARD_TYPES(X)                                    \
    CHORUS_AMO_STANDARD_CTYPES(CHORUS_ROW, X)                           \
    CHORUS_FIXED_WORDS(CHORUS_ROW, X)

#define CHORUS_AMO_EXTENDED_CTYPES(R, A) CHORUS_AMO_STANDARD_CTYPES(R, A) CHORUS_FLOATS(R, A)
#define CHORUS_AMO_EXTENDED_TYPES(X)                                    \
    CHORUS_AMO_EXTENDED_CTYPES(CHORUS_ROW, X)                           \
    CHORUS_FIXED_WORDS(CHORUS_ROW, X)

/* Point-to-point synchronization. */
#define CHORUS_WAIT_CTYPES(R, A)                                        \
    CHORUS_INTS(R, A)                                                   \
    CHORUS_UINTS(R, A)                                                  \
    R(A, short, short, CHORUS_TYPE_i16)                                 \
    R(A, ushort, unsigned short, CHORUS_TYPE_u16)
#define CHORUS_WAIT_TYPES(X)                                            \
    CHORUS_WAIT_CTYPES(CHORUS_ROW, X)                                   \
    CHORUS_FIXED_WORDS(CHORUS_ROW, X)

/* Comparisons of the wait and test families: name, C operator. */
#define CHORUS_CMP_LIST(X) X(EQ, ==) X(NE, !=) X(GT, >) X(GE, >=) X(LT, <) X(LE, <=)

/* clang-format on */

#endif /* CHORUS_LISTS_H */
