/* SPDX-License-Identifier: Apache-2.0 */
/* moment.h: what PEs are doing, over and over, when the fault strikes. */
#ifndef MOMENT_H
#define MOMENT_H

#include <chorus/chorusx.h>
#include <stdbool.h>
#include <stdint.h>

/* Beside the collectives, of which chorusx_collective makes a sync of a barrier. In start and
 * finalize PEs are once; what they repeat beside that is a sync. */
/* clang-format off */
#define MOMENT_LIST(X) \
    X(start)           \
    X(growth)          \
    X(team)            \
    X(quiet_barrier)   \
    X(stream)          \
    X(wait)            \
    X(finalize)
/* clang-format on */

enum moment {
#define X(name) MOMENT_##name,
    MOMENT_LIST(X) CHORUS_COLL_LIST(X)
#undef X
        MOMENT_COUNT
};

/* MOMENT_COUNT for a name that is not one. */
enum moment moment_of(const char *name);

/* A PE and its buffers. */
struct site {
    uint32_t me, n;
    uint64_t seed;                    /* of the run; the same on all PEs */
    uint64_t round;                   /* so far, of any moment */
    uint64_t n_growths, n_waits;      /* of these */
    size_t count;                     /* elements of a call */
    uint64_t *dest, *source, *signal; /* symmetric */
    uint64_t *want;                   /* private */
    void **sources;                   /* [n] private, every PE's source made again */
    void *blocks[512];                /* of growth */
    chorus_stream_t stream;           /* null before the first call on it */
};

/* In the job. Returns 0, or a code, as all below; chorusx_last_error has the message. */
int site_open(struct site *site, uint64_t seed);
void site_close(struct site *site);

/* One round of the moment. Collective. */
int moment_step(struct site *site, enum moment moment);

#endif /* MOMENT_H */
