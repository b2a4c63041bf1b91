/* SPDX-License-Identifier: Apache-2.0 */
/* verbs_device.h: which RDMA device, port and GID a PE uses. */
#ifndef CH_VERBS_DEVICE_H
#define CH_VERBS_DEVICE_H

#include "transport/link.h"

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
    bool is_software;                 /* a device in software, which is on no bus */
    char why[48];                     /* this port */
    char where[CH_VERBS_WHERE_BYTES]; /* "rxe0 port 1, RoCE v2, GID 1 (10.0.0.1)" */
};

/* The value of CHORUS_VERBS: "device[:port[:gid]]"; empty or 0, and -1: any. */
struct ch_verbs_wish {
    char name[CH_VERBS_NAME_BYTES];
    uint8_t port;
    int gid;
};
CH_MUST_CHECK chorus_status ch_verbs_wish_read(const char *text, struct ch_verbs_wish *out);

/* The entry of a port's table to use: RoCE v2 before v1, and IPv4 addresses before global IPv6
 * addresses before link-local ones. -1: there is none. */
int ch_verbs_gid_choose(const struct ibv_gid_entry *entries, size_t n, uint8_t port);

/* Open the device for this PE, the `nth` of its host: the nearest to the cores that it may run
 * on, and devices of equal distance in turn. ERR_UNSUPPORTED, with the reason; ERR_ARG if
 * CHORUS_VERBS names a device that does not exist. */
CH_MUST_CHECK chorus_status ch_verbs_device_open(const struct ch_verbs_wish *wish, uint32_t nth,
                                                 struct ch_verbs_device *out);
void ch_verbs_device_close(struct ch_verbs_device *device);

#endif /* CH_VERBS_DEVICE_H */
