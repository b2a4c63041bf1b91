/* SPDX-License-Identifier: Apache-2.0 */
/* verbs_device.h: which RDMA device, port and GID a PE uses. */
#ifndef CH_VERBS_DEVICE_H
#define CH_VERBS_DEVICE_H

#include "transport/net.h"

#include <infiniband/verbs.h>

enum { CH_VERBS_WHERE_BYTES = 96, CH_VERBS_NAME_BYTES = 64 };

struct ch_verbs_device {
    struct ibv_context *context;
    char name[CH_VERBS_NAME_BYTES];
    uint8_t port;
    struct ibv_port_attr port_attr;
    struct ibv_device_attr attr;
    struct ibv_gid_entry gid;
    bool is_ethernet;
    bool is_software;                 /* no device on a bus, but the kernel */
    char why[48];                     /* this port */
    char where[CH_VERBS_WHERE_BYTES]; /* "rxe0 port 1, RoCE v2, GID 1 (10.0.0.1)" */
};

/* What CHORUS_VERBS asks for: "device[:port[:gid]]"; empty or 0, and -1: whatever serves. */
struct ch_verbs_wish {
    char name[CH_VERBS_NAME_BYTES];
    uint8_t port;
    int gid;
};
CH_MUST_CHECK chorus_status ch_verbs_wish_read(const char *text, struct ch_verbs_wish *out);

/* The entry of a port's table to use: RoCE v2 before v1, and addresses of IPv4 before global
 * ones of IPv6 before those of a link. -1: there is none. */
int ch_verbs_gid_choose(const struct ibv_gid_entry *entries, size_t n, uint8_t port);

/* Open the device that this PE shall use, `nth` of the PEs of its host: the nearest to the
 * cores it may run on, and those of one distance in turn. ERR_UNSUPPORTED, saying why; ERR_ARG
 * where the wish names what is not there. */
CH_MUST_CHECK chorus_status ch_verbs_device_open(const struct ch_verbs_wish *wish, uint32_t nth,
                                                 struct ch_verbs_device *out);
void ch_verbs_device_close(struct ch_verbs_device *device);

#endif /* CH_VERBS_DEVICE_H */
