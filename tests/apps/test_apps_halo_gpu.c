/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Halo exchange by kernels, on a CPU: objects are made as if the heap were on GPUs, and the
 * kernel's lanes are those of kernel_fake.h. Blocks have few elements each, so that they share
 * links.
 */
#include "apps/kernel_fake.h"

#include "apps/halo_kernel_cuda.h"

#include "apps/halo_job.h"

enum { STEPS = 6, SEEDS = 6, LANES_MAX = 4 };

static _Thread_local unsigned launches;

static void run_kernel(void *arg)
{
    const struct ch_halo_task *task = arg;

    if (task->halo.is_far)
        ch_halo_kernel_far(*task);
    else
        ch_halo_kernel(*task);
}

/* In place of the library's: the kernel has ended on return. Kernels of an object have as many
 * lanes, since those that begin and end an exchange divide messages in the same way. */
int ch_halo_launch(const struct ch_halo_task *task, chorus_stream_t stream)
{
    struct ch_halo_task copy = *task;

    (void)stream;
    fake_seed(++launches + 1000u * (unsigned)api_me());
    fake_launch(run_kernel, &copy, task->halo.n_blocks, 1 + task->halo.n_blocks % LANES_MAX);
    return CHORUS_OK;
}

int fake_heap_info(chorusx_heap_info_t *info_out);
int fake_heap_info(chorusx_heap_info_t *info_out)
{
    memset(info_out, 0, sizeof(*info_out));
    info_out->heap = CHORUS_HEAP_cuda;
    return CHORUS_OK;
}

/* --- a kernel of the program ----------------------------------------------------------------
 */
struct walk {
    chorusx_halo_device_t halo;
    void *array;
};

/* Link after link, which all PEs have in one order. */
static void run_walk(void *arg)
{
    const struct walk *walk = arg;

    for (int i = 0; i < (int)walk->halo.n; i++) {
        chorusx_halo_pack_put_block(&walk->halo, i, walk->array);
        chorusx_halo_unpack_block(&walk->halo, i, walk->array);
    }
}

static void exchange_inside(chorusx_halo_t halo, void *array)
{
    struct walk walk = {.array = array};

    EXPECT(chorusx_halo_device(halo, &walk.halo) == CHORUS_OK);
    fake_seed(++launches);
    fake_launch(run_walk, &walk, 1, 1 + launches % LANES_MAX);
}

/* --- random links ---------------------------------------------------------------------------
 */
static void step_forward(struct job *job, chorusx_halo_t halo, uint32_t *array, int step)
{
    set_array(job, array, step);
    carry_out(job);
    dawdle(job);
    if (step % 3 == 0) {
        EXPECT(chorusx_halo_exchange_on_stream(halo, array, NULL) == CHORUS_OK);
    } else if (step % 3 == 1) {
        EXPECT(chorusx_halo_begin_on_stream(halo, array, NULL) == CHORUS_OK);
        dawdle(job);
        EXPECT(chorusx_halo_wait_on_stream(halo, NULL) == CHORUS_OK);
    } else {
        exchange_inside(halo, array);
    }
    EXPECT(memcmp(array, job->values[api_me()], job_bytes(job)) == 0);
}

static int accumulate(chorusx_halo_t halo, void *array, chorus_type type)
{
    return chorusx_halo_accumulate_on_stream(halo, array, type, NULL);
}

static void exchanges__random_links__are_as_one_after_another(void)
{
    exchange_random_links(&(struct job_calls){SEEDS, STEPS, step_forward, accumulate});
}

/* --- neighbours that are late ---------------------------------------------------------------
 */
enum { COUNT = 40, LATE_STEPS = 30 };

/* A chain in which nothing comes back: only what was freed may be written again. */
static void inside__receiver_is_late__gets_each_step(void)
{
    const chorusx_halo_part_t own = {.extent = {COUNT}, .stride = {1}},
                              others = {.first = COUNT, .extent = {COUNT}, .stride = {1}};
    chorusx_halo_link_t links[2];
    uint64_t array[2 * COUNT];
    chorusx_halo_t halo;
    int n = 0;

    if (api_me() > 0) links[n++] = (chorusx_halo_link_t){.peer = api_me() - 1, .recv = others};
    if (api_me() + 1 < api_n())
        links[n++] = (chorusx_halo_link_t){.peer = api_me() + 1, .send = own};
    EXPECT(chorusx_halo_create(WORLD, 2 * COUNT, 8, n, links, &halo) == CHORUS_OK);
    for (uint64_t step = 0; step < LATE_STEPS; step++) {
        for (uint64_t i = 0; i < 2 * COUNT; i++)
            array[i] = step * 100 + i + 10000 * (uint64_t)api_me();
        if (api_me() + 1 == api_n() && step % 8 == 3) (void)usleep(20000);
        if (n > 0) exchange_inside(halo, array);
        for (uint64_t i = 0; api_me() > 0 && i < COUNT; i++)
            EXPECT(array[COUNT + i] == step * 100 + i + 10000 * (uint64_t)(api_me() - 1));
    }
    EXPECT(chorusx_halo_destroy(halo) == CHORUS_OK);
}

/* --- words ----------------------------------------------------------------------------------
 */
enum { FEW = 9, MOST_BYTES = 48 };

/* Elements of so many bytes to the next PE, in an array that begins `shift` bytes after a line.
 */
static void expect_bytes(size_t bytes, size_t shift, bool is_list)
{
    const uint32_t from[FEW] = {3, 1, 4, 0, 5, 8, 2, 6, 7};
    char memory[64 + 2 * FEW * MOST_BYTES] __attribute__((aligned(64)));
    char *const array = memory + shift;
    chorusx_halo_link_t links[2] = {
        {.peer = api_next(), .send = {.extent = {FEW}, .stride = {1}}},
        {.peer = api_previous(), .recv = {.first = FEW, .extent = {FEW}, .stride = {1}}},
    };
    chorusx_halo_t halo;

    if (is_list) links[0].send = (chorusx_halo_part_t){.indices = from, .count = FEW};
    if (api_n() < 3) { /* one link has both */
        links[0].recv = links[1].recv;
        links[1] = (chorusx_halo_link_t){.peer = api_me(), .tag = 1};
    }
    EXPECT(chorusx_halo_create(WORLD, 2 * FEW, bytes, 2, links, &halo) == CHORUS_OK);
    for (int step = 0; step < 3; step++) {
        for (size_t i = 0; i < 2 * FEW * bytes; i++)
            array[i] = (char)(i * 7 + (size_t)step * 31 + (size_t)api_me() * 101);
        EXPECT(chorusx_halo_exchange_on_stream(halo, array, NULL) == CHORUS_OK);
        for (size_t i = 0; i < FEW * bytes; i++) {
            const size_t at = is_list ? from[i / bytes] * bytes + i % bytes : i;

            EXPECT(array[FEW * bytes + i] ==
                   (char)(at * 7 + (size_t)step * 31 + (size_t)api_previous() * 101));
        }
    }
    EXPECT(chorusx_halo_destroy(halo) == CHORUS_OK);
}

static void exchange__elements_of_any_bytes__arrive(void)
{
    const size_t bytes[] = {1, 2, 3, 4, 6, 8, 12, 16, 24, MOST_BYTES},
                 shifts[] = {0, 1, 2, 4, 8, 16};

    for (size_t i = 0; i < sizeof(bytes) / sizeof(bytes[0]); i++)
        expect_bytes(bytes[i], shifts[i % 6], i % 2 == 0),
            expect_bytes(bytes[i], 0, i % 2 != 0);
}

/* --- sums of each type ----------------------------------------------------------------------
 */
#define DEFINE_SUM(NAME, T, FIRST, SECOND)                                                 \
    static void expect_sum_##NAME(chorusx_halo_t halo)                                     \
    {                                                                                      \
        T array[2] = {FIRST, SECOND};                                                      \
                                                                                           \
        EXPECT(chorusx_halo_accumulate_on_stream(halo, array, CHORUS_TYPE_##NAME, NULL) == \
               CHORUS_OK);                                                                 \
        EXPECT(array[0] == (T)((T)(FIRST) + (T)(SECOND)) && array[1] == (T)(SECOND));      \
    }
DEFINE_SUM(f64, double, 1e16, 0.3)
DEFINE_SUM(i64, int64_t, 0x7fffffff12345678, 0x0fffffff87654321 - 0x0fffffff00000000)
DEFINE_SUM(f32, float, 1e7f, 0.7f)
DEFINE_SUM(i32, int32_t, -5, 3)

static chorusx_halo_t halo_of_one(size_t bytes)
{
    const uint32_t from = 0, to = 1;
    const chorusx_halo_link_t link = {.peer = api_me(),
                                      .send = {.indices = &from, .count = 1},
                                      .recv = {.indices = &to, .count = 1}};
    chorusx_halo_t halo;

    EXPECT(chorusx_halo_create(WORLD, 2, bytes, 1, &link, &halo) == CHORUS_OK);
    return halo;
}

static void accumulate__each_type__adds(void)
{
    chorusx_halo_t of_4 = halo_of_one(4), of_8 = halo_of_one(8);

    expect_sum_f32(of_4);
    expect_sum_i32(of_4);
    expect_sum_f64(of_8);
    expect_sum_i64(of_8);
    EXPECT(chorusx_halo_destroy(of_4) == CHORUS_OK);
    EXPECT(chorusx_halo_destroy(of_8) == CHORUS_OK);
}

/* --- many links -----------------------------------------------------------------------------
 */
enum { MANY = CH_HALO_BOARD_LINKS + 8 };

/* More than a block keeps beside its lanes; each link sends on what the one before brings. */
static void exchange__chain_of_many_links__passes_on(void)
{
    chorusx_halo_link_t links[MANY] = {0};
    uint32_t indices[MANY + 1], array[MANY + 1];
    int after[MANY];
    chorusx_halo_t halo;

    for (int i = 0; i < MANY; i++) {
        indices[i] = (uint32_t)i;
        indices[i + 1] = (uint32_t)i + 1;
        after[i] = i;
        links[i] = (chorusx_halo_link_t){.peer = api_me(),
                                         .tag = i,
                                         .send = {.indices = &indices[i], .count = 1},
                                         .recv = {.indices = &indices[i + 1], .count = 1}};
        if (i > 0) links[i].after = &after[i - 1], links[i].n_after = 1;
    }
    EXPECT(chorusx_halo_create(WORLD, MANY + 1, 4, MANY, links, &halo) == CHORUS_OK);
    for (uint32_t step = 1; step <= 3; step++) {
        memset(array, 0xee, sizeof(array));
        array[0] = step;
        EXPECT(chorusx_halo_begin_on_stream(halo, array, NULL) == CHORUS_OK);
        EXPECT(chorusx_halo_wait_on_stream(halo, NULL) == CHORUS_OK);
        for (int i = 0; i <= MANY; i++)
            EXPECT(array[i] == step);
    }
    EXPECT(chorusx_halo_destroy(halo) == CHORUS_OK);
}

/* --- what is refused ------------------------------------------------------------------------
 */
static void calls__host_forms__are_refused(void)
{
    chorusx_halo_t halo = halo_of_one(4);
    int32_t array[2] = {0};

    EXPECT_FAILS(chorusx_halo_exchange(halo, array), CHORUS_ERR_UNSUPPORTED, "_on_stream");
    EXPECT_FAILS(chorusx_halo_wait(halo), CHORUS_ERR_UNSUPPORTED, "_on_stream");
    EXPECT_FAILS(chorusx_halo_begin_on_stream(halo, NULL, NULL), CHORUS_ERR_ARG,
                 "the array is null");
    EXPECT_FAILS(chorusx_halo_wait_on_stream(NULL, NULL), CHORUS_ERR_ARG, "the object is null");
    EXPECT_FAILS(chorusx_halo_device(halo, NULL), CHORUS_ERR_ARG, "the handle is null");
    EXPECT_FAILS(chorusx_halo_accumulate_on_stream(halo, array, CHORUS_TYPE_f64, NULL),
                 CHORUS_ERR_ARG, "the type is not f32");
    EXPECT_FAILS(
        chorusx_halo_accumulate_on_stream(halo, (char *)array + 1, CHORUS_TYPE_f32, NULL),
        CHORUS_ERR_ARG, "not aligned");
    EXPECT(chorusx_halo_destroy(halo) == CHORUS_OK);
}

static void create__one_link_is_too_large__all_say_so(void)
{
    const uint32_t from[3] = {0, 1, 2}, to[3] = {3, 4, 5};
    chorusx_halo_link_t link = {.peer = api_me()};
    chorusx_halo_t halo;

    if (api_me() == api_n() - 1)
        link = (chorusx_halo_link_t){.peer = api_me(),
                                     .send = {.indices = from, .count = 3},
                                     .recv = {.indices = to, .count = 3}};
    EXPECT_FAILS(chorusx_halo_create(WORLD, 6, (size_t)1 << 30, 1, &link, &halo),
                 CHORUS_ERR_UNSUPPORTED, "sends 2 GiB or more");
    EXPECT(halo == CHORUSX_HALO_INVALID);
}

#define HALO_GPU_LIST(X)                                 \
    X(exchanges__random_links__are_as_one_after_another) \
    X(inside__receiver_is_late__gets_each_step)          \
    X(exchange__elements_of_any_bytes__arrive)           \
    X(accumulate__each_type__adds)                       \
    X(exchange__chain_of_many_links__passes_on)          \
    X(calls__host_forms__are_refused)                    \
    X(create__one_link_is_too_large__all_say_so)
API_MAIN(HALO_GPU_LIST)
