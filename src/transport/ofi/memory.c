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

/* Register a part under this key; memory of a GPU by its address, of which the provider makes
 * a dma-buf if it needs one. Returns 0, or a negative error of libfabric. */
static int register_once(const struct ch_endpoint *ep, const struct ch_memory_part *part,
                         uint64_t access, uint64_t key, struct fid_mr **mr_out)
{
    const struct iovec memory = {part->base, part->bytes};
    struct fi_mr_attr attr = {.mr_iov = &memory,
                              .iov_count = 1,
                              .access = access,
                              .requested_key = key,
                              .iface = FI_HMEM_CUDA};

    if (part->kind == CH_MEMORY_HOST)
        return fi_mr_reg(ep->domain, part->base, part->bytes, access, 0, key, 0, mr_out, NULL);
    attr.device.cuda = ep->terms.gpu->ordinal;
    return fi_mr_regattr(ep->domain, &attr, 0, mr_out);
}

/* Fail since the part cannot be registered; error: of libfabric, negative. */
static chorus_status fail_registration(const struct ch_endpoint *ep,
                                       const struct ch_memory_part *part, int error)
{
    if (error == -FI_ENOMEM || part->kind == CH_MEMORY_HOST)
        return CH_FAIL(
            error == -FI_ENOMEM ? CHORUS_ERR_NOMEM : CHORUS_ERR_SYSTEM,
            "libfabric: %zu bytes of %smemory cannot be registered: %s; is the limit "
            "of locked memory (ulimit -l) too small?",
            part->bytes, part->kind == CH_MEMORY_GPU ? "GPU " : "", fi_strerror(-error));
    return CH_FAIL(
        CHORUS_ERR_UNSUPPORTED,
        "libfabric: provider %s cannot register %zu KiB of GPU memory: %s; this needs "
        "a libfabric that was built with CUDA, and drivers of the adapter and of the "
        "GPU that share memory",
        ep->info->fabric_attr->prov_name, part->bytes >> 10, fi_strerror(-error));
}

chorus_status ch_ofi_register(struct ch_endpoint *ep, const struct ch_memory_part *part,
                              uint64_t access, struct fid_mr **mr_out)
{
    const bool is_of_endpoint = (ep->info->domain_attr->mr_mode & FI_MR_ENDPOINT) != 0;
    int error = -FI_ENOKEY;

    if (ep->endpoint == NULL)
        return CH_FAIL(CHORUS_ERR_ABORTED,
                       "libfabric: no memory is registered after a failure");
    for (int i = 0; i < KEY_TRIES && error == -FI_ENOKEY; i++)
        error = register_once(ep, part, access, make_key(ep), mr_out);
    if (error == 0 && is_of_endpoint) {
        error = fi_mr_bind(*mr_out, &ep->endpoint->fid, 0);
        if (error == 0) error = fi_mr_enable(*mr_out);
        if (error != 0) (void)fi_close(&(*mr_out)->fid);
    }
    return error == 0 ? CHORUS_OK : fail_registration(ep, part, error);
}

chorus_status ch_ofi_attach(struct ch_endpoint *ep, const struct ch_memory_part *part,
                            uint64_t *key_out)
{
    struct fid_mr *mr;
    chorus_status st;

    if (part->kind == CH_MEMORY_GPU && !ep->takes_gpu)
        return CH_FAIL(
            CHORUS_ERR_UNSUPPORTED,
            "libfabric: provider %s cannot register %zu KiB of GPU memory: it does not "
            "offer FI_HMEM, or is software over sockets; fi_info -c FI_HMEM lists "
            "those that do",
            ep->info->fabric_attr->prov_name, part->bytes >> 10);
    CH_TRY(
        ch_ofi_register(ep, part, FI_REMOTE_WRITE | FI_REMOTE_READ | FI_WRITE | FI_READ, &mr));
    *key_out = fi_mr_key(mr);
    st = ch_parts_add(&ep->parts, (struct ch_part){.base = (uintptr_t)part->base,
                                                   .bytes = part->bytes,
                                                   .key = *key_out,
                                                   .handle = mr,
                                                   .kind = part->kind});
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
