/* SPDX-License-Identifier: Apache-2.0 */
/* Active sets of some PEs, which the others do not know of: every triplet of up to 4 PEs. */
#include "expect.h"

enum { COUNT = 5 };

static long pSync[SHMEM_REDUCE_SYNC_SIZE];
static int pWrk[SHMEM_REDUCE_MIN_WRKDATA_SIZE];
static int source32[4 * COUNT], dest32[4 * COUNT];
static long long source64[4 * COUNT], dest64[4 * COUNT];
static int turn;

/* This PE's number in the set, or -1. */
static int place_in(int start, int log_stride, int size)
{
    for (int i = 0; i < size; i++)
        if (start + (i << log_stride) == me) return i;
    return -1;
}

static int value(int place, int i)
{
    return 1000 * turn + 100 * place + i;
}

static void fill(int place, int size)
{
    turn++;
    for (int i = 0; i < size * COUNT; i++) {
        source32[i] = value(place, i);
        source64[i] = value(place, i);
        dest32[i] = -1;
        dest64[i] = -1;
    }
}

static void move(int place, int start, int log_stride, int size)
{
    const int root = size - 1;

    fill(place, size);
    shmem_broadcast32(dest32, source32, COUNT, root, start, log_stride, size, pSync);
    shmem_broadcast64(dest64, source64, COUNT, root, start, log_stride, size, pSync);
    for (int i = 0; i < COUNT; i++) {
        EXPECT(dest32[i] == (place == root ? -1 : value(root, i)));
        EXPECT(dest64[i] == (place == root ? -1 : value(root, i)));
    }
    fill(place, size);
    shmem_fcollect32(dest32, source32, COUNT, start, log_stride, size, pSync);
    shmem_fcollect64(dest64, source64, COUNT, start, log_stride, size, pSync);
    for (int i = 0; i < size * COUNT; i++) {
        EXPECT(dest32[i] == value(i / COUNT, i % COUNT));
        EXPECT(dest64[i] == value(i / COUNT, i % COUNT));
    }
    fill(place, size);
    shmem_alltoall32(dest32, source32, COUNT, start, log_stride, size, pSync);
    shmem_alltoall64(dest64, source64, COUNT, start, log_stride, size, pSync);
    for (int i = 0; i < size * COUNT; i++) {
        EXPECT(dest32[i] == value(i / COUNT, place * COUNT + i % COUNT));
        EXPECT(dest64[i] == value(i / COUNT, place * COUNT + i % COUNT));
    }
}

/* Blocks of one to `size` elements, then elements that lie apart. */
static void collect(int place, int start, int log_stride, int size)
{
    const size_t mine = (size_t)place + 1;
    int at = 0;

    fill(place, size);
    shmem_collect32(dest32, source32, mine, start, log_stride, size, pSync);
    shmem_collect64(dest64, source64, mine, start, log_stride, size, pSync);
    for (int from = 0; from < size; from++)
        for (int i = 0; i <= from; i++, at++)
            EXPECT(dest32[at] == value(from, i) && dest64[at] == value(from, i));
    EXPECT(dest32[at] == -1 && dest64[at] == -1);
    fill(place, size);
    shmem_alltoalls32(dest32, source32, 3, 2, 1, start, log_stride, size, pSync);
    shmem_alltoalls64(dest64, source64, 2, 3, 1, start, log_stride, size, pSync);
    for (int from = 0; from < size; from++) {
        EXPECT(dest32[3 * from] == value(from, 2 * place) && dest32[3 * from + 1] == -1);
        EXPECT(dest64[2 * from] == value(from, 3 * place) && dest64[2 * from + 1] == -1);
    }
}

static void meet_and_add(int place, int start, int log_stride, int size)
{
    const int right = start + ((place + 1) % size << log_stride),
              left = (place + size - 1) % size;
    int sum = 0;

    fill(place, size);
    for (int i = 0; i < size; i++)
        sum += value(i, 2);
    shmem_int_sum_to_all(dest32, source32, COUNT, start, log_stride, size, pWrk, pSync);
    EXPECT(dest32[2] == sum);
    shmem_int_sum_to_all(source32, source32, COUNT, start, log_stride, size, pWrk, pSync);
    EXPECT(source32[2] == sum);
    shmem_sync(start, log_stride, size, pSync);
    shmem_int_p(&dest32[0], value(place, 7), right);
    shmem_barrier(start, log_stride, size, pSync);
    EXPECT(dest32[0] == value(left, 7));
    shmem_sync(start, log_stride, size, pSync);
}

/* Longer than what a root's dest is kept of. */
static void move_much(int place, int start, int log_stride, int size)
{
    enum { MUCH = 1 << 14 };
    static int dest[MUCH], source[MUCH];

    for (int i = 0; i < MUCH; i++) {
        source[i] = value(place, i);
        dest[i] = -1;
    }
    shmem_broadcast32(dest, source, MUCH, 0, start, log_stride, size, pSync);
    for (int i = 0; i < MUCH; i++)
        EXPECT(dest[i] == (place == 0 ? -1 : value(0, i)));
}

int main(void)
{
    shmem_init();
    find_neighbours();
    for (int round = 0; round < 2; round++)
        for (int log_stride = 0; log_stride < 2; log_stride++)
            for (int start = 0; start < n; start++)
                for (int size = 1; start + ((size - 1) << log_stride) < n && size <= 4;
                     size++) {
                    const int place = place_in(start, log_stride, size);

                    if (place < 0) continue;
                    turn = 10 * (start + n * (size + 5 * log_stride));
                    move(place, start, log_stride, size);
                    move_much(place, start, log_stride, size);
                    collect(place, start, log_stride, size);
                    meet_and_add(place, start, log_stride, size);
                }
    shmem_finalize();
    return 0;
}
