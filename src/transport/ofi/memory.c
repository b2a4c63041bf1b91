/* SPDX-License-Identifier: Apache-2.0 */
/* memory.c: registered memory. */
#include "transport/ofi/ofi.h"

#include <sodium.h>
#include <string.h>

enum { KEY_TRIES = 8 /* random keys, in case that one is in use */ };

/* Returns a random memory key; providers that make the keys ignore it. */
static uint64_t make_key(const struct ch_endpoint *ep)
{
    const size_t bytes = ep->info->domain_attr->mr_key_size;
    uint64_t key;

    randombytes_buf(&key, sizeof(key));
    return bytes < sizeof(key) ? key & ((UINT64_C(1) << 8 * bytes) - 1) : key;
}

chorus_status ch_ofi_register(struct ch_endpoint *ep, const void *memory, size_t bytes,
                              uint64_t access, struct fid_mr **mr_out)
{
    const bool is_of_endpoint = (ep->info->domain_attr->mr_mode & FI_MR_ENDPOINT) != 0;
    int error = -FI_ENOKEY;

    if (ep->endpoint == NULL)
        return CH_FAIL(CHORUS_ERR_ABORTED,
                       "libfabric: no memory is registered after a failure");
    for (int i = 0; i < KEY_TRIES && error == -FI_ENOKEY; i++)
        error = fi_mr_reg(ep->domain, memory, bytes, access, 0, make_key(ep), 0, mr_out, NULL);

    if (error == 0 && is_of_endpoint) {
        error = fi_mr_bind(*mr_out, &ep->endpoint->fid, 0);
        if (error == 0) error = fi_mr_enable(*mr_out);
        if (error != 0) (void)fi_close(&(*mr_out)->fid);
    }
    if (error == 0) return CHORUS_OK;
    return CH_FAIL(error == -FI_ENOMEM ? CHORUS_ERR_NOMEM : CHORUS_ERR_SYSTEM,
                   "libfabric: %zu bytes cannot be registered: %s; is the limit of locked "
                   "memory (ulimit -l) too small?",
                   bytes, fi_strerror(-error));
}

chorus_status ch_ofi_attach(struct ch_endpoint *ep, const struct ch_memory_part *part,
                            uint64_t *key_out)
{
    struct fid_mr *mr;
    chorus_status st;

    CH_TRY(ch_ofi_register(ep, part->base, part->bytes,
                           FI_REMOTE_WRITE | FI_REMOTE_READ | FI_WRITE | FI_READ, &mr));
    *key_out = fi_mr_key(mr);
    st = ch_parts_add(&ep->parts, (struct ch_part){.base = (uintptr_t)part->base,
                                                   .bytes = part->bytes,
                                                   .key = *key_out,
                                                   .handle = mr});
    if (st != CHORUS_OK) (void)fi_close(&mr->fid);
    return st;
}

void ch_ofi_detach(struct ch_endpoint *ep, void *base)
{
    struct ch_part part;

    if (ch_parts_remove(&ep->parts, (uintptr_t)base, &part))
        (void)fi_close(&((struct fid_mr *)part.handle)->fid);
}

chorus_status ch_ofi_add_peer_key(struct ch_endpoint *ep, uint32_t pe,
                                  const struct ch_memory_part *there, uint64_t key)
{
    return ch_parts_add(&ep->peers[pe].parts, (struct ch_part){.base = (uintptr_t)there->base,
                                                               .bytes = there->bytes,
                                                               .key = key,
                                                               .kind = there->kind});
}

void ch_ofi_drop_peer_key(struct ch_endpoint *ep, uint32_t pe, const char *there)
{
    struct ch_part part;

    (void)ch_parts_remove(&ep->peers[pe].parts, (uintptr_t)there, &part);
}
