/* SPDX-License-Identifier: Apache-2.0 */
/*
 * floor.cu: what calls between GPUs without peer access cannot be faster than, on this machine.
 * Two processes share memory that both pin, and one GPU or two. A CSV goes to standard output:
 *
 *   store_poll  a kernel of one process stores to a word, and a kernel of the other process
 * polls it, and answers; half of a round trip copies      both processes copy so many bytes to
 * pinned memory, and at the same time so many from there, by copy engines
 *
 * Of 5 repetitions the median counts, and of the processes the slower one.
 */
#include <algorithm>
#include <cuda_runtime.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BYTES_MIN ((size_t)256 << 10)
#define BYTES_MAX ((size_t)16 << 20)
#define WAIT_NS 10000000000ull /* of kernels and of processes for each other */

enum { PROCESSES = 2, REPEATS = 5, WARM_UP = 100, ROUNDS = 1000, COPIES = 20 };

/* A word alone in its line. */
struct line {
    alignas(128) uint32_t word;
};

/* What the processes share; both pin it. */
struct shared {
    struct line polled[PROCESSES],
        gates[PROCESSES]; /* an entry for the process that polls it */
    struct line arrivals;
    double us[PROCESSES];
    alignas(4096) char to[PROCESSES][BYTES_MAX], from[PROCESSES][BYTES_MAX];
};

static struct {
    int me;
    struct shared *shared,
        *on_gpu;            /* the same memory, as this process and as its GPU have it */
    char *data;             /* in the memory of the GPU: twice BYTES_MAX */
    unsigned long long *ns; /* likewise: a result */
    uint32_t meetings;
    cudaStream_t streams[2];
    cudaEvent_t start, joined, end;
} job;

/* --- kernels ------------------------------------------------------------------------------ */

static __device__ unsigned long long now_ns()
{
    unsigned long long ns;

    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns)::"memory");
    return ns;
}

static __device__ void store(uint32_t *word, uint32_t value)
{
    asm volatile("st.relaxed.sys.u32 [%0], %1;" ::"l"(word), "r"(value) : "memory");
}

/* False if the word does not get the value in time. */
static __device__ bool poll(const uint32_t *word, uint32_t value)
{
    const unsigned long long start = now_ns();
    uint32_t found;

    do {
        asm volatile("ld.relaxed.sys.u32 %0, [%1];" : "=r"(found) : "l"(word) : "memory");
    } while (found != value && now_ns() - start < WAIT_NS);
    return found == value;
}

/* Round trips with values from `first` on; 0 ns if the other process did not answer. */
static __global__ void exchange(struct shared *shared, int me, uint32_t first,
                                unsigned long long *ns_out)
{
    uint32_t *const theirs = &shared->polled[1 - me].word;
    unsigned long long start = 0;
    bool is_answered = true;

    for (uint32_t i = 0; i < WARM_UP + ROUNDS && is_answered; i++) {
        if (i == WARM_UP) start = now_ns();
        if (me == 0) store(theirs, first + i);
        is_answered = poll(&shared->polled[me].word, first + i);
        if (me == 1) store(theirs, first + i);
    }
    *ns_out = is_answered ? now_ns() - start : 0;
}

/* What comes after this on the stream waits until the host opens the gate. */
static __global__ void wait_at_gate(const struct shared *shared, int me, uint32_t number)
{
    (void)poll(&shared->gates[me].word, number);
}

/* --- two processes ------------------------------------------------------------------------ */

static void fail(const char *what, const char *why)
{
    (void)fprintf(stderr, "chorus-floor: process %d: %s: %s\n", job.me, what, why);
    exit(1);
}

static void check(cudaError_t error, const char *what)
{
    if (error != cudaSuccess) fail(what, cudaGetErrorString(error));
}

static unsigned long long host_ns()
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (unsigned long long)t.tv_sec * 1000000000u + (unsigned long long)t.tv_nsec;
}

static void meet()
{
    uint32_t *const arrivals = &job.shared->arrivals.word;
    const unsigned long long start = host_ns();

    job.meetings++;
    (void)__atomic_fetch_add(arrivals, 1, __ATOMIC_ACQ_REL);
    while (__atomic_load_n(arrivals, __ATOMIC_ACQUIRE) < PROCESSES * job.meetings)
        if (host_ns() - start > WAIT_NS) fail("a meeting", "the other process did not come");
}

/* The larger of both processes' times. */
static double slower(double mine_us)
{
    double us;

    job.shared->us[job.me] = mine_us;
    meet();
    us = std::max(job.shared->us[0], job.shared->us[1]);
    meet();
    return us;
}

static void print_median(const char *what, size_t bytes, double us[REPEATS])
{
    std::sort(us, us + REPEATS);
    if (job.me == 0) (void)printf("%s,%zu,%.3f\n", what, bytes, us[REPEATS / 2]);
    (void)fflush(stdout);
}

/* --- what is measured --------------------------------------------------------------------- */

static double exchange_us(int repeat)
{
    const uint32_t first = (uint32_t)repeat * (WARM_UP + ROUNDS) + 1;
    unsigned long long ns = 0;

    meet();
    exchange<<<1, 1, 0, job.streams[0]>>>(job.on_gpu, job.me, first, job.ns);
    check(cudaStreamSynchronize(job.streams[0]), "a kernel");
    check(cudaMemcpy(&ns, job.ns, sizeof(ns), cudaMemcpyDefault), "a result");
    if (ns == 0)
        fail("a poll", "no store arrived in 10 s; start NVIDIA's MPS, so that kernels of both "
                       "processes run at the same time");
    return slower((double)ns / ROUNDS / 2 / 1e3);
}

static void put_copies(size_t bytes)
{
    char *const out = job.data, *const in = job.data + BYTES_MAX;

    for (int i = 0; i < COPIES; i++) {
        check(cudaMemcpyAsync(job.shared->to[job.me], out, bytes, cudaMemcpyDeviceToHost,
                              job.streams[0]),
              "a copy");
        check(cudaMemcpyAsync(in, job.shared->from[job.me], bytes, cudaMemcpyHostToDevice,
                              job.streams[1]),
              "a copy");
    }
}

/* All copies are queued before the first one begins. */
static double copies_us(size_t bytes)
{
    static uint32_t number;
    float ms = 0;

    number++;
    wait_at_gate<<<1, 1, 0, job.streams[0]>>>(job.on_gpu, job.me, number);
    check(cudaEventRecord(job.start, job.streams[0]), "an event");
    check(cudaStreamWaitEvent(job.streams[1], job.start, 0), "an event");
    put_copies(bytes);
    check(cudaEventRecord(job.joined, job.streams[1]), "an event");
    check(cudaStreamWaitEvent(job.streams[0], job.joined, 0), "an event");
    check(cudaEventRecord(job.end, job.streams[0]), "an event");
    meet();
    __atomic_store_n(&job.shared->gates[job.me].word, number, __ATOMIC_RELEASE);
    check(cudaStreamSynchronize(job.streams[0]), "copies");
    check(cudaEventElapsedTime(&ms, job.start, job.end), "an event");
    return slower((double)ms / COPIES * 1e3);
}

static void measure()
{
    double us[REPEATS];

    for (int i = 0; i < REPEATS; i++)
        us[i] = exchange_us(i);
    print_median("store_poll", sizeof(uint32_t), us);
    for (size_t bytes = BYTES_MIN; bytes <= BYTES_MAX; bytes *= 8) {
        for (int i = 0; i < REPEATS; i++)
            us[i] = copies_us(bytes);
        print_median("copies", bytes, us);
    }
}

/* --- the program -------------------------------------------------------------------------- */

static void open_gpu()
{
    int n = 0;

    check(cudaGetDeviceCount(&n), "GPUs");
    check(cudaSetDevice(job.me % n), "a GPU");
    check(cudaHostRegister(job.shared, sizeof(*job.shared),
                           cudaHostRegisterMapped | cudaHostRegisterPortable),
          "pinned memory");
    check(cudaHostGetDevicePointer((void **)&job.on_gpu, job.shared, 0), "pinned memory");
    check(cudaMalloc((void **)&job.data, 2 * BYTES_MAX), "memory");
    check(cudaMalloc((void **)&job.ns, sizeof(*job.ns)), "memory");
    for (cudaStream_t &stream : job.streams)
        check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "a stream");
    for (cudaEvent_t *event : {&job.start, &job.joined, &job.end})
        check(cudaEventCreate(event), "an event");
}

static int run_as(int me)
{
    job.me = me;
    open_gpu();
    if (me == 0) (void)printf("what,bytes,us\n");
    measure();
    meet();
    return 0;
}

int main(void)
{
    int status = 0, mine;
    pid_t other;

    job.shared = (struct shared *)mmap(NULL, sizeof(*job.shared), PROT_READ | PROT_WRITE,
                                       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (job.shared == MAP_FAILED) fail("shared memory", "the system has none");
    other = fork(); /* before CUDA starts, which no child could use */
    if (other < 0) fail("a process", "the system has none");
    if (other == 0) return run_as(1);
    mine = run_as(0);
    if (waitpid(other, &status, 0) != other || status != 0) return 1;
    return mine;
}
