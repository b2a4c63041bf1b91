/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/vs.h"

#include "bench/values.h"

#include <string.h>

/* The peer whose name begins `text` and ends there or at a '='; CH_PEER_COUNT if none. */
static unsigned find_peer(const char *text, size_t length)
{
    unsigned peer = 0;

    while (peer < CH_PEER_COUNT && (strlen(ch_sweep_peers[peer]) != length ||
                                    memcmp(ch_sweep_peers[peer], text, length) != 0))
        peer++;
    return peer;
}

bool ch_read_vs(struct ch_sweep_options *options, const char *text)
{
    for (const char *at = text;;) {
        const size_t name_length = strcspn(at, "=,");
        const unsigned peer = find_peer(at, name_length);
        const char *const path = at + name_length + (at[name_length] == '=' ? 1 : 0);
        const size_t path_length = strcspn(path, ",");

        if (peer == CH_PEER_COUNT)
            return CH_REFUSE(options,
                             "--vs: unknown \"%.*s\"; expected a list of: nccl, nccl_windows, "
                             "nvshmem, each with =FILE if its library is elsewhere",
                             (int)name_length, at);
        if (path_length >= sizeof(options->vs[peer].path))
            return CH_REFUSE(
                options, "--vs %s: the path has %zu characters; expected at most %zu",
                ch_sweep_peers[peer], path_length, sizeof(options->vs[peer].path) - 1);
        options->vs[peer].is_wanted = true;
        memcpy(options->vs[peer].path, path, path_length);
        options->vs[peer].path[path_length] = '\0';
        if (path[path_length] == '\0') return true;
        at = path + path_length + 1;
    }
}

bool ch_vs_any(const struct ch_sweep_options *options)
{
    for (unsigned peer = 0; peer < CH_PEER_COUNT; peer++)
        if (options->vs[peer].is_wanted) return true;
    return false;
}
