/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chorus_device.cuh: calls inside CUDA kernels, as NVSHMEM has them, for jobs whose heap is on
 * GPUs. A file of CUDA C++ includes this in place of chorus.h and chorusx.h, before them.
 *
 *     __global__ void kernel(float *x) { chorus_float_p(x, 1.0f, (chorus_my_pe() + 1) % 2); }
 *
 *     chorus_init();
 *     kernel<<<1, 1>>>(x);
 *
 * Everything is in headers, so kernels need neither -rdc nor a library of device code; compile
 * with -I for include/ and for include/chorus/device/, where the library's algorithms are.
 *
 * Scopes: a call whose name chorus.h has, too, is made by one thread. Forms that end in _warp
 * are made by all 32 threads of a warp, those that end in _block by all threads of a block of
 * any shape, with the same arguments; these begin and end with a barrier of their threads, and
 * count as one call.
 *
 * State: the kernels of a file (of a module of CUDA) find the PE and its teams in a variable of
 * that file, which registers itself with the library when it is loaded, so that chorus_init
 * fills it in, and chorus_finalize takes it away. A kernel that makes a call without it prints
 * why, and traps. One process is one PE; teams that are made or destroyed later are known to
 * all files at once.
 *
 * What chorus.h says of a call holds here too, but where this says otherwise. Arguments are not
 * checked, except teams and roots of collectives: a bad one is ERR_ARG, and the first such call
 * of a file prints why. A PE that waits for others holds its
 * place on the GPU, so all blocks that wait for one another must be resident:
 * chorusx_collective_launch sees to that. Where a kernel is loaded when it is first launched,
 * that waits for those that run: CUDA_MODULE_LOADING=EAGER loads all at the start. A wait that
 * fails (the job ends, CHORUS_TIMEOUT passes) returns, and is reported: the next
 * chorusx_stream_synchronize of the PE, or call of its host on the team, gives the first such
 * failure of a team, or of calls without a team, since the last one it gave.
 */
#ifndef CHORUS_DEVICE_CUH
#define CHORUS_DEVICE_CUH

#ifndef __CUDACC__
#error "chorus/chorus_device.cuh is for files of CUDA C++; others include chorus/chorusx.h"
#endif
#ifdef CHORUS_H
#error "include chorus/chorus_device.cuh before chorus/chorus.h: kernels share its names"
#endif
#define CHORUS_API __host__ __device__ __attribute__((visibility("default")))

#define CH_INSIDE_KERNELS 1
#define CH_ROUTED 1 /* links to peers that are not near; a call on near PEs has none */
#include "base/exec.h"

#include "chorus/chorusx.h"
#include "coll/cuda/kernel.h"
#include "team/device.h"

#include <cuda_runtime.h>
#include <stdio.h>
#include <string.h>

/* Functions of names that only kernels have, and of those that hosts have too. The latter are
 * defined for the device alone; on the host they are the library's. */
#define CHORUS_DEVICE static __device__ __forceinline__
#define CHORUS_BOTH extern "C" __host__ __device__ __forceinline__

/* Each file has a state of its own, but for modules that programs link into theirs. */
#ifndef CH_STATE_SCOPE
#define CH_STATE_SCOPE static
#endif

/* --- state ------------------------------------------------------------------------------ */
CH_STATE_SCOPE __constant__ struct ch_device_state ch_state = CH_NO_STATE;
static struct ch_device_state ch_state_given = CH_NO_STATE; /* to them, as the host knows it */

/* Is this thread the first one to report something? `word` is 0 before that. */
CH_FN int ch_is_first(unsigned *word)
{
    return atomicCAS(word, 0u, 1u) == 0u;
}

/* One thread's call finds no state: the first such thread says why, and the kernel ends once it
 * has. */
CH_PART void ch_no_state(void)
{
    static __device__ unsigned is_said;

    if (ch_is_first(&is_said)) {
        printf(
            "chorus: a kernel made a call, but its file has no state: the job has not begun, "
            "or has ended, its heap is not on GPUs, or the file was loaded later; then call "
            "chorusx_module_init in it, before the launch\n");
        __threadfence();
        atomicExch(&is_said, 2u);
    }
    while (atomicAdd(&is_said, 0u) != 2u) {
    }
    __trap();
}

/* The kernel ends here if its file has no state. */
CH_FN void ch_expect_state(void)
{
    if (__builtin_expect(ch_state.world.n == 0, 0)) ch_no_state();
}

/* What functions that return numbers return for a bad team. */
CH_FN int ch_no_number(void)
{
    ch_expect_state();
    return -1;
}

/* What functions that return addresses return where there is none. */
CH_FN void *ch_no_address(void)
{
    ch_expect_state();
    return 0;
}

/* Store a state, null for none, for the kernels of this file. */
static const char *ch_state_store(const void *state)
{
    static const struct ch_device_state none = CH_NO_STATE;
    cudaError_t error = cudaMemcpyToSymbol(ch_state, state != 0 ? state : &none,
                                           sizeof(struct ch_device_state));

    if (error == cudaSuccess) error = cudaStreamSynchronize(0); /* there for every stream */
    if (error != cudaSuccess) {
        (void)cudaGetLastError(); /* the program's own checks are not to find it */
        return cudaGetErrorString(error);
    }
    memcpy(&ch_state_given, state != 0 ? state : &none, sizeof(ch_state_given));
    return 0;
}

/* In each file, so that the library knows of it. */
namespace
{
struct ch_module {
    struct chorusx_module known;

    ch_module()
    {
        known.file = __BASE_FILE__;
        known.bytes = sizeof(struct ch_device_state);
        known.version = CHORUSX_MODULE_VERSION;
        known.store = ch_state_store;
        chorusx_module_register(&known);
    }
    ~ch_module()
    {
        chorusx_module_unregister(&known);
    }
};
struct ch_module ch_module_of_file;
} // namespace

/* What ch_state is to be, where this PE's GPU is current. */
static inline int ch_state_find(struct ch_device_state *state)
{
    const int code = chorusx_device_state(state, sizeof(*state));
    int current;

    if (code != CHORUS_OK) return code;
    if (cudaGetDevice(&current) == cudaSuccess && current == state->ordinal) return CHORUS_OK;
    return chorusx_device_failed("finding the state of this PE's kernels",
                                 "another GPU than that of its heap is current");
}

/**
 * Give the kernels of this file what they need to make calls, which chorus_init does for files
 * that are loaded before, and the constructors of others. Needed only where these could not:
 * CHORUS_LOG=info says so.
 *
 * Collective: no; every PE whose kernels of this file make calls, after chorus_init.
 * Threads:    one at a time in each file, with this PE's GPU current, which chorus_init made
 *             so; no stream of it being captured.
 * Ordering:   kernels launched afterwards have the state, on any stream; waits for what is
 *             queued on the default stream. Implies no barrier.
 * Errors:     those of chorusx_device_state; ERR_SYSTEM where another GPU is current or CUDA
 *             refuses the copy.
 * Source:     NVSHMEM, nvshmemx_cumodule_init; here for the file it is called in.
 * Since:      0.1
 */
CHORUS_MUST_CHECK static inline int chorusx_module_init(void)
{
    struct ch_device_state state;
    const int code = ch_state_find(&state);
    const char *why;

    if (code != CHORUS_OK) return code;
    why = ch_state_store(&state);
    if (why == 0) return CHORUS_OK;
    return chorusx_device_failed("giving kernels the state of their PE", why);
}

/* What a capture forbids is not tried, since trying breaks it. */
static inline int ch_state_give(cudaStream_t stream)
{
    enum cudaStreamCaptureStatus is = cudaStreamCaptureStatusNone;

    if (cudaStreamIsCapturing(stream, &is) != cudaSuccess) (void)cudaGetLastError();
    if (is != cudaStreamCaptureStatusNone)
        return chorusx_device_failed("the first launch of a file's kernels",
                                     "its stream is in a capture; call chorusx_module_init in "
                                     "that file before the capture begins");
    return chorusx_module_init();
}

/* Before a launch on a stream: the kernels of this file have the state that there is. */
static inline int ch_state_before(cudaStream_t stream)
{
    struct ch_device_state state;
    const int code = ch_state_find(&state);

    if (code != CHORUS_OK) return code;
    if (memcmp(&ch_state_given, &state, sizeof(state)) == 0) return CHORUS_OK;
    return ch_state_give(stream);
}

/* The code for what CUDA said of a launch. */
static inline int ch_launched(cudaError_t error)
{
    if (error == cudaSuccess) return CHORUS_OK;
    (void)cudaGetLastError(); /* the program's own checks are not to find it */
    return chorusx_device_failed("launching a kernel on all PEs", cudaGetErrorString(error));
}

/**
 * Launch a kernel on this PE whose blocks wait for one another and for those of other PEs: all
 * of them run at once. On the first launch in a file, also chorusx_module_init, unless that was
 * called before; a capture cannot hold it.
 *
 * @param func    [in] the kernel, one of this file's if it makes calls
 * @param grid    blocks; not more than the GPU runs at once
 * @param block   threads of each block
 * @param args    [in] addresses of the kernel's arguments, read before the return
 * @param shared  bytes of dynamic shared memory of a block
 * @param stream  of this PE's GPU; null is its default stream
 *
 * Collective: every PE whose kernel the kernel waits for; grids may differ.
 * Threads:    one at a time in each file, with this PE's GPU current.
 * Ordering:   returns when the kernel is queued. Calls on a team, here and by hosts, on streams
 *             or not, are one after another: the program orders them by streams and events.
 * Errors:     those of chorusx_module_init; ERR_SYSTEM where the first launch of a file is in
 *             a capture, which stays sound, and where CUDA refuses the launch, with its
 *             reason (a grid that is too large for all blocks to run at once, and others).
 * Source:     NVSHMEM, nvshmemx_collective_launch, which counts 0 blocks as the most.
 * Since:      0.1
 */
CHORUS_MUST_CHECK static inline int chorusx_collective_launch(const void *func, dim3 grid,
                                                              dim3 block, void **args,
                                                              size_t shared,
                                                              cudaStream_t stream)
{
    const int code = ch_state_before(stream);

    if (code != CHORUS_OK) return code;
    return ch_launched(cudaLaunchCooperativeKernel(func, grid, block, args, shared, stream));
}

/**
 * As chorusx_collective_launch, with the attributes of a launch as CUDA has them: clusters,
 * priority and others.
 *
 * @param config  [in] grid, block, shared memory, stream and attributes, which are in effect
 *                besides the cooperative one, unless that is among them
 * @param func    [in] the kernel, one of this file's if it makes calls
 * @param args    [in] addresses of the kernel's arguments, read before the return
 *
 * Collective: every PE whose kernel the kernel waits for; grids may differ.
 * Threads:    one at a time in each file, with this PE's GPU current.
 * Ordering:   as of chorusx_collective_launch.
 * Errors:     as of chorusx_collective_launch; ERR_ARG for more than 31 attributes.
 * Source:     NVSHMEM, nvshmemx_collective_launch_attr, whose struct contains config.
 * Since:      0.1
 */
CHORUS_MUST_CHECK static inline int
chorusx_collective_launch_config(const cudaLaunchConfig_t *config, const void *func,
                                 void **args)
{
    enum { MOST = 32 };
    cudaLaunchAttribute attrs[MOST];
    cudaLaunchConfig_t with_ours = *config;
    int code, is_given = 0;

    if (config->numAttrs >= MOST) return CHORUS_ERR_ARG;
    for (unsigned i = 0; i < config->numAttrs; i++) {
        attrs[i] = config->attrs[i];
        is_given = is_given || attrs[i].id == cudaLaunchAttributeCooperative;
    }
    with_ours.attrs = attrs;
    if (!is_given) {
        attrs[config->numAttrs].id = cudaLaunchAttributeCooperative;
        attrs[config->numAttrs].val.cooperative = 1;
        with_ours.numAttrs = config->numAttrs + 1;
    }
    code = ch_state_before(config->stream);
    if (code != CHORUS_OK) return code;
    return ch_launched(cudaLaunchKernelExC(&with_ours, func, args));
}

/* --- scopes ----------------------------------------------------------------------------- */
CH_FN uint32_t ch_thread_in_block(void)
{
    return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
}

CH_FN struct ch_lanes ch_lanes_of_thread(void)
{
    const struct ch_lanes g = {0, 1, CH_LANES_FEW};

    return g;
}

CH_FN struct ch_lanes ch_lanes_of_warp(void)
{
    const struct ch_lanes g = {ch_thread_in_block() % CH_WARP_LANES, CH_WARP_LANES,
                               CH_LANES_FEW};

    return g;
}

CH_FN struct ch_lanes ch_lanes_of_block(void)
{
    const struct ch_lanes g = {ch_thread_in_block(), blockDim.x * blockDim.y * blockDim.z,
                               CH_LANES_BLOCK};

    return g;
}

/* Those that call a part for lanes that call a function: all of a block; of a warp lane 0, for
 * which the others, whose lane is not below the width, wait. */
CH_FN struct ch_lanes ch_lanes_of_part(struct ch_lanes g)
{
    g.width = CH_IS_BLOCK(g) ? g.width : 1;
    g.form = CH_LANES_PART;
    return g;
}

/* The status of a part, which those lanes have that called it, for all lanes. */
CH_FN chorus_status ch_status_of_part(chorus_status st, struct ch_lanes g)
{
    return CH_IS_BLOCK(g) ? st : (chorus_status)ch_lanes_broadcast(g, (uint64_t)st);
}

/* --- who and where ---------------------------------------------------------------------- */
/* The team of a handle; null: this PE is in no such team. A handle that is a constant of the
 * program, as CHORUS_TEAM_WORLD, leaves no branch. */
CH_FN const struct ch_device_team *ch_team_of(chorus_team_t handle)
{
    const struct ch_device_team *team;

    if (handle < 0 || ch_state.teams == 0) return 0; /* no such team, or no state yet */
    if (handle == CHORUS_TEAM_WORLD) return &ch_state.world;
    team = ch_state.teams[(uint32_t)handle & ch_state.slot_mask];
    return team != 0 && team->handle == handle ? team : 0;
}

/* How kernels wait, in constant memory, where it takes no registers. */
CH_FN const struct ch_wait_policy *ch_wait_policy_here(void)
{
    static_assert(offsetof(struct ch_wait_policy, aborted) ==
                          offsetof(struct ch_device_terms, aborted) &&
                      offsetof(struct ch_wait_policy, timeout_ns) ==
                          offsetof(struct ch_device_terms, timeout_ns),
                  "struct ch_device_terms begins as struct ch_wait_policy of kernels");
    return (const struct ch_wait_policy *)&ch_state.terms;
}

/* The bit of a PE in ch_state.far, which is set for all PEs of a large job. */
CH_FN int ch_far_bit(int pe)
{
    return (int)(ch_state.far >> ((uint32_t)pe % CH_DEVICE_PES_MAX) & 1);
}

/* Add it to an address of this PE to get that of the same object at a peer whose bit is not
 * set. */
CH_FN uintptr_t ch_near_shift_of(int pe)
{
    return (uintptr_t)ch_state.peers[(uint32_t)pe % CH_DEVICE_PES_MAX].shift;
}

/* The same of any peer. */
CH_FN uintptr_t ch_shift_of(int pe)
{
    if (ch_far_bit(pe) && ch_state.all != 0) return (uintptr_t)ch_state.all[pe].shift;
    return ch_near_shift_of(pe);
}

template <typename T> CH_FN T *ch_shifted(T *mine, uintptr_t shift)
{
    T *const there = (T *)((uintptr_t)mine + shift);

    __builtin_assume(__isGlobal(there)); /* as all symmetric memory is */
    return there;
}

/* Where a peer has the symmetric object that this PE has at `mine`. */
template <typename T> CH_FN T *ch_at_pe(T *mine, int pe)
{
    return ch_shifted(mine, ch_shift_of(pe));
}

/* The same of a peer whose bit is not set, of which calls of one thread test nothing else. They
 * have it before the test, so that compilers load it once for a loop of calls. */
template <typename T> CH_FN T *ch_at_near(T *mine, int pe)
{
    return ch_shifted(mine, ch_near_shift_of(pe));
}

/* Is a peer not near? Its memory is reached by requests to the ring of this PE. */
CH_FN int ch_is_far(int pe)
{
    if (!ch_far_bit(pe)) return 0;
    return ch_state.all == 0 || ch_state.all[pe].is_far != 0;
}

/* One thread: the job's hosts are to learn of a call that failed. 0: no team's. */
CH_FN void ch_report(uint64_t team, chorus_status st, uint32_t late_pe, enum ch_fault_kind kind)
{
    struct ch_kernel_fault *fault = &ch_state.terms.fault[ch_fault_inside_at(team)];

    if (atomicCAS_system(&fault->claimed, 0u, 1u) != 0u) return;
    fault->kind = kind;
    fault->late_pe = late_pe;
    fault->team = team;
    __threadfence_system(); /* the status last */
    *(volatile int *)&fault->status = st;
}

/* The same, of a wait that failed. */
CH_FN void ch_report_late(uint64_t team, chorus_status st, uint32_t late_pe)
{
    ch_report(team, st, late_pe, CH_FAULT_LATE);
}

/* The same of requests for a peer that is not near, by lane 0. */
CH_FN void ch_report_far(chorus_status st, int pe, struct ch_lanes g)
{
    if (st != CHORUS_OK && g.lane == 0) ch_report_late(0, st, (uint32_t)pe);
}

#ifdef __CUDA_ARCH__
/**
 * As the functions of these names in chorus.h.
 *
 * @param team  a team that this PE is in; any other gives -1
 *
 * Collective: no, any PE.
 * Threads:    any threads of any kernel, diverged too.
 * Ordering:   implies no barrier.
 * Errors:     none but -1 for a bad team.
 * Source:     NVSHMEM, nvshmem_my_pe and related calls.
 * Since:      0.1
 */
CHORUS_BOTH int chorus_my_pe(void)
{
    return (int)ch_state.world.me;
}

CHORUS_BOTH int chorus_n_pes(void)
{
    return (int)ch_state.world.n;
}

CHORUS_BOTH int chorus_team_my_pe(chorus_team_t team)
{
    const struct ch_device_team *found = ch_team_of(team);

    return found != 0 ? (int)found->me : ch_no_number();
}

CHORUS_BOTH int chorus_team_n_pes(chorus_team_t team)
{
    const struct ch_device_team *found = ch_team_of(team);

    return found != 0 ? (int)found->n : ch_no_number();
}

/**
 * As chorus_team_translate_pe of hosts.
 *
 * @param src_team   a team that this PE is in
 * @param src_pe     a number in src_team
 * @param dest_team  a team that this PE is in
 *
 * Collective: no, any PE.
 * Threads:    any threads of any kernel, diverged too.
 * Ordering:   implies no barrier.
 * Errors:     none but -1 for a bad team or number, or a PE that is not in both.
 * Source:     NVSHMEM, nvshmem_team_translate_pe in kernels.
 * Since:      0.1
 */
CHORUS_BOTH int chorus_team_translate_pe(chorus_team_t src_team, int src_pe,
                                         chorus_team_t dest_team)
{
    const struct ch_device_team *src = ch_team_of(src_team), *dest = ch_team_of(dest_team);

    if (src == 0 || dest == 0 || src_pe < 0 || (uint32_t)src_pe >= src->n)
        return ch_no_number();
    for (uint32_t pe = 0; pe < dest->n; pe++)
        if (dest->worlds[pe] == src->worlds[src_pe]) return (int)pe;
    return -1;
}

/**
 * Get an address by which loads, stores and atomics of kernels reach a peer's copy of an
 * object; null: they do not, as the peer's GPU is not near.
 *
 * @param addr  symmetric, this PE's address in an object; not checked
 * @param pe    number in the job
 *
 * Collective: no, any PE.
 * Threads:    any threads of any kernel, diverged too.
 * Ordering:   implies no barrier; accesses are ordered by chorus_fence and CUDA's own fences.
 * Errors:     none are found.
 * Source:     NVSHMEM, nvshmem_ptr; as chorus_ptr of hosts.
 * Since:      0.1
 */
CHORUS_BOTH void *chorus_ptr(const void *addr, int pe)
{
    return ch_is_far(pe) ? ch_no_address() : ch_at_pe((char *)(uintptr_t)addr, pe);
}

/**
 * Get the multicast address of an object, as chorusx_mc_ptr of hosts.
 *
 * @param team  a team that this PE is in; any other gives null
 * @param addr  symmetric, this PE's address in an object; not checked
 *
 * Collective: no, any PE.
 * Threads:    any threads of any kernel, diverged too.
 * Ordering:   implies no barrier; accesses are those of CUDA's multimem instructions.
 * Errors:     none are found; null if there is no multicast, as without CHORUS_NVLS.
 * Source:     NVSHMEM, nvshmemx_mc_ptr inside kernels.
 * Since:      0.1
 */
CHORUS_BOTH void *chorusx_mc_ptr(chorus_team_t team, const void *addr)
{
    const struct ch_device_team *found = ch_team_of(team);

    if (found == 0 || found->multicast == 0) return ch_no_address();
    return (char *)(uintptr_t)addr + found->multicast;
}

/**
 * End the job from a kernel: print the status, and end the kernel with a failure of CUDA, which
 * the host of this PE gets by its next call. That ends the job as any failure does.
 *
 * @param status  printed; the exit status of the job is that of the host's failure, not 0
 *
 * Collective: no, any PE.
 * Threads:    any thread of any kernel, diverged too.
 * Ordering:   does not return; what the PE's kernels have not finished is lost.
 * Errors:     none are returned.
 * Source:     NVSHMEM, nvshmem_global_exit; there the status is that of the job.
 * Since:      0.1
 */
CHORUS_BOTH void chorus_global_exit(int status)
{
    printf("chorus: PE %d ends the job in a kernel, with status %d\n", (int)ch_state.world.me,
           status);
    __trap();
}
#endif /* __CUDA_ARCH__ */

#include "chorus/device_access.cuh"
#include "chorus/device_rma.cuh"

#include "chorus/device_amo.cuh"
#include "chorus/device_coll.cuh"
#include "chorus/device_wait.cuh"

#endif /* CHORUS_DEVICE_CUH */
