/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_moment.h: what PEs whose heaps are on GPUs of several hosts do over and over. The GPUs
 * are fakes, whose kernels of collectives do nothing. */
#ifndef GPU_MOMENT_H
#define GPU_MOMENT_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* In start and finalize PEs are once; what they repeat beside that is growth. */
/* clang-format off */
#define GPU_MOMENT_LIST(X) \
    X(start)               \
    X(growth)              \
    X(put)                 \
    X(get)                 \
    X(amo)                 \
    X(wait)                \
    X(stream_put)          \
    X(stream_get)          \
    X(stream_signal)       \
    X(stream_quiet)        \
    X(inside_get)          \
    X(inside_amo)          \
    X(inside_put)          \
    X(inside_quiet)        \
    X(inside_full)         \
    X(inside_wait)         \
    X(finalize)
/* clang-format on */

enum gpu_moment {
#define X(name) GPU_MOMENT_##name,
    GPU_MOMENT_LIST(X)
#undef X
        GPU_MOMENT_COUNT
};

/* GPU_MOMENT_COUNT for a name that is not one. */
enum gpu_moment gpu_moment_of(const char *name);

/* Bytes of each buffer, and threads in place of the lanes of a kernel (gpu_inside.h). */
enum { GPU_BYTES_MAX = 100000, GPU_INSIDE_LANES = 3 };

/* A PE and its buffers. */
struct gpu_site {
    uint32_t me, n;
    uint64_t seed, round;      /* round: so far, of any moment */
    uint64_t n_growths;        /* of these */
    uint64_t n_waits;          /* likewise */
    unsigned char *mine, *got; /* private */
    unsigned char *kept;       /* symmetric: what others get */
    unsigned char *from;       /* symmetric: [n] of so many bytes, what each PE puts */
    uint64_t *words;           /* symmetric */
    uint64_t *counter, *spare; /* of them; any PE may put to the latter */
    uint64_t *signals;         /* others, [GPU_INSIDE_LANES] */
    uint64_t n_inside[GPU_INSIDE_LANES]; /* waits for these so far */
    void *blocks[32];                    /* of growth */
    cudaStream_t stream;
};

/* In the job. Returns 0, or a code, as below; chorusx_last_error has the message. Calls that
 * have no code fail through the program's handler. */
int gpu_site_open(struct gpu_site *site, uint64_t seed);
void gpu_site_close(struct gpu_site *site);
/* Free the symmetric buffers, before the end of the job. */
void gpu_site_free(struct gpu_site *site);

/* Fill memory with what `pe` keeps, by the seed. */
void gpu_fill(unsigned char *memory, uint64_t seed, uint32_t pe, size_t bytes);
/* Returns 0 if the bytes are alike, else says so and returns another code than the library. */
int gpu_compare(const struct gpu_site *site, const unsigned char *got,
                const unsigned char *want, size_t bytes);

/* One round of the moment. All PEs make the same rounds. */
int gpu_moment_step(struct gpu_site *site, enum gpu_moment moment);

/* Does PE `pe`, which alone sets *is_over, want to end the rounds? Sets *is_over on all. */
int gpu_site_agree(struct gpu_site *site, int pe, bool *is_over);

#endif /* GPU_MOMENT_H */
