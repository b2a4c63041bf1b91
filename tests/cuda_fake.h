/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda_fake.h: the calls of CUDA that the library makes, with GPUs of host memory behind them:
 * what the library asks of CUDA, and what it says when CUDA refuses, is tried without a GPU.
 * Kernels do not run: that one was launched, and after what, is noted; and what they say of
 * calls that fail is said here.
 */
#ifndef CH_TEST_CUDA_FAKE_H
#define CH_TEST_CUDA_FAKE_H

#include "coll/cuda/kernel.h"

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <stdint.h>

enum { FAKE_DEVICES_MAX = 4, FAKE_NOTES_MAX = 1024, FAKE_PRIORITY_HIGHEST = -5 };

/* FAKE_EARLY: a launch that may begin before the kernel before it has ended; FAKE_LETS: one
 * that lets the next kernel begin before it has ended. */
enum fake_kind { FAKE_LAUNCH, FAKE_EARLY, FAKE_LETS, FAKE_COPY, FAKE_RECORD, FAKE_WAIT };

/* Something put on a stream. */
struct fake_note {
    enum fake_kind kind;
    uint64_t stream;     /* its number */
    const void *subject; /* the kernel, the event, where a copy goes */
};

/* Of this process; set before the library starts. */
struct cuda_fake {
    cudaError_t start_error; /* of the first call of all */
    int n_devices;
    char bus[FAKE_DEVICES_MAX][16];
    int major;                /* of every device, which has kernels from this virtual one */
    int multiprocessors;      /* of every device */
    int ctas;                 /* of any kernel, that a multiprocessor has room for */
    cudaError_t image_error;  /* of asking for a kernel's image */
    CUdevice_attribute lacks; /* an attribute that no device has; 0: all have all */
    const char *lacks_call;   /* a call that the driver does not have; or null */
    int has_no_peer_access;   /* none of the devices */
    int is_without_nvlink;    /* likewise */
    int is_full;              /* creating memory fails */
    int has_no_addresses;     /* reserving them fails */
    CUresult access_error;    /* of making mapped memory accessible */
    CUresult fabric_error;    /* of creating memory with a fabric handle */
    CUresult import_error;    /* of taking memory by one */
    CUresult dma_buf_error;   /* of making a dma-buf */
    int rdma_order;           /* CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING, */
    int rdma_flush;           /* and _FLUSH_WRITES_OPTIONS, of every device */
    int bad_device;           /* pinning memory for it fails; -1: none */
    int full_device;          /* it has no room for streams and events; -1: none */
    int bad_trial;            /* the trial of lines fails on this device; -1: on none */
    int is_trial_launched;    /* it fails there after its launch */
    int bad_multicast;        /* no multicast object takes this device; -1: all do */
    int bad_memory;           /* copies, zeroing and stores fail on this device; -1: on none */
    int sound_operations;     /* the first so many of them succeed there */
    size_t free_bytes;        /* of every device */
    cudaError_t free_error;   /* of asking for them */
    size_t memory_bytes;      /* likewise */
    size_t granule_bytes;     /* of its memory */
    size_t pinned_bytes_max;  /* pinning memory of the host that exists fails if it is more */
    void *registered;         /* memory of the host that a GPU reaches; null: none */
    void *on_gpu;             /* memory of a GPU; null: none */
    char *program;            /* memory that the program mapped by the driver; null: none */
    size_t program_bytes;
    int program_fd; /* what is mapped there */
    CUmemAllocationProp program_is;
    cudaStream_t broken_stream;         /* whose work has failed; null: none */
    int fails_kernels;                  /* every collective reports that PE 0 is late */
    int keeps_calls;                    /* calls that are checked do not end */
    void (*run_post)(const void *args); /* what the kernel of posts (transport/post.h) does;
                                           null: nothing */
    /* What kernels of collectives do, and what precedes them; null: nothing. */
    void (*run_call)(const void *kernel, unsigned ctas, void **args);
    int may_wait;    /* waits on streams for words are accepted that are not met yet */
    unsigned yields; /* one of so many copies lets other threads run behind it; 0: none does */

    /* What there is now; all zero in the end. */
    int streams, events, handles, mappings, ranges, pinned, bound;

    int multicasts, joined; /* objects made, devices that were added to them, ever */

    int mapping, mapping_at_once; /* threads that make or undo a mapping: now, and the most */

    int fabric_handles, descriptors;  /* memory was passed on by, ever */
    int rdma_flushes;                 /* of writes of adapters, ever */
    int rdma_capable;                 /* creations of memory that adapters may access, ever */
    uintptr_t dma_buf_lo, dma_buf_hi; /* of what the last dma-buf was made */
    int loaded, not_loaded;           /* kernels; launches of one that was not loaded before */
    int device_waits, stream_waits;   /* of the host */
    struct ch_kernel_pattern pattern; /* of the collective that was launched last */
    int address_queries, capture_queries; /* where an address is, what a stream captures */
    struct fake_note notes[FAKE_NOTES_MAX];
    int n_notes;
};
extern struct cuda_fake cuda_fake;

/* Two sound devices, nothing noted. */
void cuda_fake_reset(void);

/* Note something put on a stream. */
void cuda_fake_note(enum fake_kind kind, cudaStream_t stream, const void *subject);

/* Is there a note of this kind on this stream, after note number `after`? Its number, or -1. */
int cuda_fake_find(enum fake_kind kind, cudaStream_t stream, int after);

/* Work is put on a stream: an error where the capture of another stream forbids it, which it
 * breaks. */
cudaError_t cuda_fake_put(cudaStream_t stream);

/* The stream's work has ended but for this wait, until the word is at least so much. */
void cuda_fake_wait(cudaStream_t stream, const uint64_t *word, uint64_t least);

/* Other work of the stream, which ends after this time whatever the stream waits for. */
void cuda_fake_work(cudaStream_t stream, unsigned ms);

/* The kernel that was launched last runs again, as from a graph. */
void cuda_fake_replay(void);

/* A kernel is launched: note if it was not loaded before. */
void cuda_fake_expect_loaded(const void *kernel);

/* What waits for a stream of this device waits for the kernel that this thread launched. */
cudaError_t cuda_fake_run_to_end(int device);

/* Captures, without their graphs. A stream joins the capture of another. */
void cuda_fake_begin_capture(cudaStream_t stream);
void cuda_fake_join_capture(cudaStream_t stream, cudaStream_t other);
void cuda_fake_break_capture(cudaStream_t stream);
/* Was it sound to the end? */
int cuda_fake_end_capture(cudaStream_t stream);

#endif /* CH_TEST_CUDA_FAKE_H */
