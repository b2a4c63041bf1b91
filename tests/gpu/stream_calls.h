/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream_calls.h: every collective of the API that takes a stream, as a row, and what stands
 * around a call in a test: fresh data before it, a check after it, all in the stream.
 */
#ifndef STREAM_CALLS_H
#define STREAM_CALLS_H

#include "stream_kernels.h"

#include "chorus/chorusx.h"

#include <stdbool.h>
#include <stddef.h>

struct stream_request {
    chorus_team_t team;
    void *dest, *source;
    size_t count;
    int root;
    chorus_stream_t stream;
    /* Of chorusx_collective alone. */
    chorus_coll coll;
    chorus_type type;
    chorus_op op;
    const char *algo;
    int ctas;
};

/* A function of the API. */
struct stream_function {
    const char *name;
    chorus_coll coll;
    chorus_type type;
    chorus_op op;
    int (*put)(const struct stream_request *request);
};

extern const struct stream_function stream_functions[];
extern const size_t stream_functions_count;

/* chorusx_collective, whose collective, type, operator and plan are the request's. */
int stream_put_any(const struct stream_request *request);

enum stream_place { STREAM_APART, STREAM_IN_PLACE };

/* One call of a test. */
struct stream_call {
    chorus_coll coll;
    chorus_type type;
    chorus_op op;
    size_t count;
    enum stream_place place;
    int (*put)(const struct stream_request *request);
    const char *algo; /* null: as the rules say */
    int ctas;
    size_t dest_offset, source_offset; /* bytes, from the start of the site's buffers */
    size_t margin; /* elements beside dest that are to stay, if it is apart */
};

/* A team's buffers, and what was found in them. PEs outside the team have them too. */
struct stream_site {
    chorus_team_t team;
    uint32_t n, me;
    size_t bytes; /* of each buffer */
    char *dest, *source;
    unsigned long long *round, tag; /* the tag of the last call */
    struct stream_found *found;
};

/* Collective over the job; a PE outside the team passes CHORUS_TEAM_INVALID. Buffers are for
 * counts up to count_max of any type. */
void stream_site_open(struct stream_site *site, chorus_team_t team, size_t count_max);
void stream_site_close(struct stream_site *site);

/* Poison, fill, call, check. A call that GPUs, or the algorithm, cannot serve is left out if
 * the refusal says so. */
void stream_put(struct stream_site *site, const struct stream_call *call, void *stream);

/* End the round: calls that follow, and replays, have other data. */
void stream_end_round(struct stream_site *site, void *stream);

/* Wait for the stream; expect that nothing was wrong, in so many rounds, and that there were
 * checks where the team has this PE. */
void stream_expect(const struct stream_site *site, void *stream, unsigned long long rounds);

#endif /* STREAM_CALLS_H */
