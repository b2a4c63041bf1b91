/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_far.h: the kernel of posts, on the host, for tests with CUDA that is a fake. */
#ifndef CH_TEST_CUDA_FAR_H
#define CH_TEST_CUDA_FAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the kernels of posts do when they are launched. */
struct far_kernels {
    bool is_captured; /* nothing, as in a capture: far_replay runs the last one */
    int fails;        /* report this failure, if not CHORUS_OK, and post nothing */
    bool posts;       /* the operation nevertheless, but do not wait for its end */
    uint32_t n;       /* that were launched */
};
extern struct far_kernels far_kernels;

/* The kernel of posts, on this thread, which waits as the kernel would. */
void far_run(const void *args);
/* Run the kernel that was launched last again, as from a graph; from any thread. Returns a
 * chorus_status. */
int far_replay(void);

/* Post a request of an algorithm to a ring, as its kernel would. Returns a chorus_status. */
struct far_post {
    enum { FAR_PUT, FAR_FLUSH, FAR_INLINE } op; /* INLINE: `value` at `there`, and in `word` */
    uint32_t pe;
    uint64_t there; /* the peer's address */
    const void *source;
    size_t bytes;
    uint64_t *word; /* of this PE for FAR_FLUSH, else of the peer */
    uint64_t value;
};
struct ch_ring;
int far_post(const struct ch_ring *ring, const struct far_post *post);
/* The ring is broken, as after a wait for a credit that has failed. */
void far_break(const struct ch_ring *ring);
/* Post the request of the kernel that was launched last so many times more, and wait for
 * nothing but room in the ring. Returns the first failure, a chorus_status. */
int far_post_again(uint32_t n);

/* A call inside a kernel, which this thread makes on the ring. */
struct far_call {
    enum {
        FAR_CALL_PUT,
        FAR_CALL_GET,
        FAR_CALL_CHANGE,
        FAR_CALL_SIGNAL,
        FAR_CALL_QUIET,
        FAR_CALL_WAIT /* until the word of this PE at `local` has `value` or more */
    } what;
    uint32_t pe;
    uint64_t there; /* the peer's address */
    void *local;    /* source or dest; of a change: its old value, 8 bytes, or null */
    size_t bytes;   /* of a change: of the word */
    uint64_t word;  /* of a put: that of the signal, at the peer; 0: none */
    uint64_t value, compare;
    uint32_t amo; /* an enum ch_amo */
    bool adds;    /* the signal */
    bool waits;   /* not nbi */
    bool is_own;  /* local memory is such that the host does not access */
};
int far_make(const struct ch_ring *ring, const struct far_call *call);
/* The same as a kernel makes it: its waits end with the job and by CHORUS_TIMEOUT, and a
 * failure is reported to the host. */
struct ch_device_state;
int far_make_inside(const struct ch_device_state *state, const struct far_call *call);
/* The barrier of CHORUS_TEAM_WORLD inside a kernel; nothing is reported. */
int far_barrier(const struct ch_device_state *state);
/* Report that a call inside a kernel for this PE has failed, unless an earlier report is there.
 */
void far_report(const struct ch_device_state *state, int status, uint32_t pe);

/* What the last kernel posted: the names of its ops, as "put, flush". */
const char *far_ops(void);
/* The number of all calls on the ring so far, by any kernel. */
uint64_t far_calls(void);

#endif /* CH_TEST_CUDA_FAR_H */
