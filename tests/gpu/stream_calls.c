/* SPDX-License-Identifier: Apache-2.0 */
#include "stream_calls.h"

#include "gpu_pes.h"

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <string.h>

void stream_site_open(struct stream_site *site, chorus_team_t team, size_t count_max)
{
    const bool is_member = team != CHORUS_TEAM_INVALID;

    *site = (struct stream_site){.team = team, .bytes = (size_t)gpu_n() * count_max * 16};
    if (is_member) {
        site->me = (uint32_t)chorus_team_my_pe(team);
        site->n = (uint32_t)chorus_team_n_pes(team);
    }
    site->dest = chorus_malloc(site->bytes);
    site->source = chorus_malloc(site->bytes);
    site->round = gpu_alloc(sizeof(*site->round));
    site->found = gpu_alloc(sizeof(*site->found));
    gpu_fill(site->round, 0, sizeof(*site->round));
    gpu_fill(site->found, 0, sizeof(*site->found));
    EXPECT(site->dest != NULL && site->source != NULL);
    EXPECT(stream_load_kernels() == cudaSuccess);
    gpu_meet(); /* no PE runs kernels while another makes CUDA wait for all */
}

void stream_site_close(struct stream_site *site)
{
    gpu_meet();
    gpu_free(site->found);
    gpu_free(site->round);
    chorus_free(site->source);
    chorus_free(site->dest);
}

static struct oracle_call oracle_of(const struct stream_site *site,
                                    const struct stream_call *call)
{
    const uint32_t bytes = oracle_bytes_of(call->type);
    const uint32_t parts = bytes > 8 ? bytes / 8 : 1;

    return (struct oracle_call){.coll = call->coll,
                                .type = call->type,
                                .op = call->op,
                                .n = site->n,
                                .me = site->me,
                                .root = (uint32_t)(call->count % site->n),
                                .width = bytes / parts,
                                .count = call->count * parts};
}

/* Is source no part of dest, as it was asked for or as it must be? */
static bool is_apart(const struct stream_call *call)
{
    return call->place == STREAM_APART || ch_coll_overlap(call->coll) == CH_OVERLAP_apart;
}

/* In place: dest is source, or source is this PE's block of dest. */
static struct stream_request request_of(const struct stream_site *site,
                                        const struct stream_call *call, void *stream)
{
    const size_t block = call->count * oracle_bytes_of(call->type);
    struct stream_request r = {.team = site->team,
                               .dest = site->dest + call->dest_offset,
                               .source = site->source + call->source_offset,
                               .count = call->count,
                               .root = (int)(call->count % site->n),
                               .stream = stream,
                               .coll = call->coll,
                               .type = call->type,
                               .op = call->op,
                               .algo = call->algo,
                               .ctas = call->ctas};

    if (is_apart(call)) return r;
    r.source = r.dest;
    if (ch_coll_overlap(call->coll) == CH_OVERLAP_in_dest)
        r.source = (char *)r.dest + site->me * block;
    return r;
}

/* Only what the documents say: GPUs do not combine some types, algorithms have needs. */
static bool is_refusal_due(const struct stream_call *call, int code)
{
    const char *says = chorusx_last_error();

    if (code != CHORUS_ERR_UNSUPPORTED) return false;
    if (strstr(says, "GPUs do not combine") != NULL)
        return oracle_reduces(call->coll) && (oracle_bytes_of(call->type) == 16 ||
                                              oracle_class_of(call->type) == ORACLE_COMPLEX);
    return call->algo != NULL && strstr(says, "cannot serve this call: it needs") != NULL;
}

void stream_put(struct stream_site *site, const struct stream_call *call, void *stream)
{
    const bool has_data = call->coll != CHORUS_COLL_barrier;
    struct stream_check check = {.round = site->round, .found = site->found};
    struct stream_request r;
    int code;

    check.tag = ++site->tag;
    if (site->team == CHORUS_TEAM_INVALID) return;
    check.call = oracle_of(site, call);
    check.margin = is_apart(call) ? call->margin : 0;
    r = request_of(site, call, stream);
    if (has_data) EXPECT(stream_put_poison(&check, r.dest, stream) == cudaSuccess);
    if (has_data) EXPECT(stream_put_fill(&check, r.source, stream) == cudaSuccess);
    code = call->put(&r);
    if (is_refusal_due(call, code)) return;
    if (!EXPECT(code == CHORUS_OK)) return;
    if (has_data) EXPECT(stream_put_check(&check, r.dest, stream) == cudaSuccess);
}

void stream_end_round(struct stream_site *site, void *stream)
{
    site->tag = 0;
    EXPECT(stream_put_next(site->round, stream) == cudaSuccess);
}

void stream_expect(const struct stream_site *site, void *stream, unsigned long long rounds)
{
    struct stream_found found = {0};
    unsigned long long round = 0;

    EXPECT(chorusx_stream_synchronize(stream) == CHORUS_OK);
    gpu_meet(); /* CUDA's own copies wait for streams of other PEs of this process */
    gpu_copy(&found, site->found, sizeof(found));
    gpu_copy(&round, site->round, sizeof(round));
    EXPECT(round == rounds);
    EXPECT(site->team == CHORUS_TEAM_INVALID || found.checked > 0);
    if (!EXPECT(found.wrong == 0))
        (void)fprintf(stderr,
                      "PE %d: %llu of %llu elements; the first in call %llu of round %llu: "
                      "element %llu is %llx, not %llx\n",
                      gpu_me(), found.wrong, found.checked, found.tag, found.round, found.i,
                      found.got, found.want);
    gpu_meet();
}
