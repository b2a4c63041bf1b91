/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/peers/peers.h"

#include <stdio.h>
#include <string.h>

static const struct {
    bool (*load)(const char *path, char *error, size_t bytes);
    bool (*join)(const struct ch_vs_job *job, struct ch_peer *peer_out, char *error,
                 size_t bytes);
    void (*leave)(void);
} libraries[CH_PEER_COUNT] = {
#define X(PEER) {ch_##PEER##_load, ch_##PEER##_join, ch_##PEER##_leave},
    CH_PEER_LIST(X)
#undef X
};

static const struct ch_backend *sharer; /* of the job that is being joined */

static void share(void *bytes_of_first, size_t bytes)
{
    static char all[CH_SWEEP_PES_MAX * CH_GATHER_MAX];
    char *at = bytes_of_first;

    for (size_t piece; bytes > 0; at += piece, bytes -= piece) {
        piece = bytes < CH_GATHER_MAX ? bytes : CH_GATHER_MAX;
        sharer->gather(at, piece, all);
        memcpy(at, all, piece);
    }
}

/* True if it holds on all PEs. If not, the first PE on which it does not reports why. */
static bool all_agree(const struct ch_backend *backend, unsigned peer, bool is_well,
                      const char *error)
{
    bool all[CH_SWEEP_PES_MAX];

    backend->gather(&is_well, sizeof(is_well), all);
    for (uint32_t pe = 0; pe < backend->pes; pe++) {
        if (all[pe]) continue;
        if (pe == backend->me)
            (void)fprintf(stderr, "%s: --vs %s: left out: PE %u: %s\n", backend->program,
                          ch_sweep_peers[peer], pe, error);
        return false;
    }
    return true;
}

static void open_peer(struct ch_backend *backend, unsigned peer, const char *path, void *stream)
{
    static struct ch_peer peers[CH_PEER_COUNT];
    const struct ch_vs_job job = {backend->me, backend->pes, stream, share, backend->lose};
    char error[512] = "";
    bool is_well;

    if (!all_agree(backend, peer, libraries[peer].load(path, error, sizeof(error)), error))
        return;
    is_well = libraries[peer].join(&job, &peers[peer], error, sizeof(error));
    if (all_agree(backend, peer, is_well, error)) backend->peers[peer] = &peers[peer];
}

void ch_peers_open(struct ch_backend *backend, const struct ch_sweep_options *options,
                   void *stream)
{
    sharer = backend;
    for (unsigned peer = 0; peer < CH_PEER_COUNT; peer++)
        if (options->vs[peer].is_wanted)
            open_peer(backend, peer, options->vs[peer].path, stream);
}

void ch_peers_close(const struct ch_backend *backend)
{
    for (unsigned peer = CH_PEER_COUNT; peer-- > 0;)
        if (backend->peers[peer] != NULL) libraries[peer].leave();
}
