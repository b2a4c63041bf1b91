/* SPDX-License-Identifier: Apache-2.0 */
/* device.c: which RDMA device, port and GID a PE uses. */
#include "transport/verbs/state.h"

#include "base/text.h"

#include <arpa/inet.h>
#include <errno.h>
#include <hwloc.h>
#include <hwloc/linux.h>
#include <hwloc/openfabrics-verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    PORTS_MAX = 64,   /* largest number of active ports of a host that are considered */
    GIDS_MAX = 256,   /* number of entries of a port's table that are considered */
    NUMBER_BYTES = 8, /* of a port or GID in text */
};

/* Copy the next part between colons to `out`. False: there is none, or it is empty or too long.
 * *at becomes null after the last. */
static bool next_part(const char **at, char *out, size_t bytes)
{
    const size_t length = *at == NULL ? 0 : strcspn(*at, ":");

    if (length == 0 || length >= bytes) return false;
    memcpy(out, *at, length);
    out[length] = '\0';
    *at = (*at)[length] == ':' ? *at + length + 1 : NULL;
    return true;
}

chorus_status ch_verbs_choice_read(const char *text, struct ch_verbs_choice *out)
{
    struct ch_verbs_choice choice = {.gid = -1};
    const char *at = *text == '\0' ? NULL : text;
    char part[NUMBER_BYTES];
    uint64_t number;

    if (at != NULL && !next_part(&at, choice.name, sizeof(choice.name))) goto out_bad;
    if (at != NULL) {
        if (!next_part(&at, part, sizeof(part)) ||
            !ch_number_whole(part, 1, UINT8_MAX, &number))
            goto out_bad;
        choice.port = (uint8_t)number;
    }
    if (at != NULL) {
        if (!next_part(&at, part, sizeof(part)) ||
            !ch_number_whole(part, 0, GIDS_MAX - 1, &number))
            goto out_bad;
        choice.gid = (int)number;
    }
    if (at != NULL) goto out_bad;
    *out = choice;
    return CHORUS_OK;

out_bad:
    return CH_FAIL(CHORUS_ERR_ARG,
                   "CHORUS_VERBS is \"%s\"; expected device[:port[:GID index]], as in "
                   "mlx5_0:1:3; ibv_devinfo lists devices",
                   text);
}

static bool is_ipv4(const union ibv_gid *gid)
{
    static const unsigned char mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

    return memcmp(gid->raw, mapped, sizeof(mapped)) == 0;
}

static bool is_link_local(const union ibv_gid *gid)
{
    return gid->raw[0] == 0xfe && (gid->raw[1] & 0xc0) == 0x80;
}

/* Returns how good a GID is, by the order of ch_verbs_gid_choose; more is better. */
static int rate_gid(const struct ibv_gid_entry *entry)
{
    const int kind = is_ipv4(&entry->gid) ? 3 : is_link_local(&entry->gid) ? 1 : 2;

    return (entry->gid_type == IBV_GID_TYPE_ROCE_V2 ? 4 : 0) + kind;
}

int ch_verbs_gid_choose(const struct ibv_gid_entry *entries, size_t n, uint8_t port)
{
    int best = -1, worth = 0;

    for (size_t i = 0; i < n; i++)
        if (entries[i].port_num == port && rate_gid(&entries[i]) > worth) {
            best = (int)i;
            worth = rate_gid(&entries[i]);
        }
    return best;
}

/* --- finding ports --- */

struct port {
    struct ibv_device *device;
    uint8_t number;
    bool is_near;
    char why[48]; /* it is used */
};

/* Is the device near a core that this process may run on? */
static bool is_near(hwloc_topology_t topology, hwloc_const_bitmap_t own,
                    struct ibv_device *device)
{
    hwloc_bitmap_t set = hwloc_bitmap_alloc();
    const bool near = set == NULL || hwloc_ibv_get_device_cpuset(topology, device, set) != 0 ||
                      hwloc_bitmap_intersects(set, own);

    hwloc_bitmap_free(set);
    return near;
}

/* Set which ports are near the cores of this process. If hwloc knows no distances, all are
 * near. */
static void find_near_ports(struct port *ports, size_t n)
{
    hwloc_topology_t topology;
    hwloc_bitmap_t own = hwloc_bitmap_alloc();

    if (own == NULL || hwloc_topology_init(&topology) != 0) goto out_bitmap;
    if (hwloc_topology_set_all_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_NONE) == 0 &&
        hwloc_topology_load(topology) == 0 &&
        hwloc_get_cpubind(topology, own, HWLOC_CPUBIND_PROCESS) == 0)
        for (size_t i = 0; i < n; i++)
            ports[i].is_near = is_near(topology, own, ports[i].device);
    hwloc_topology_destroy(topology);
out_bitmap:
    hwloc_bitmap_free(own);
}

/* Returns the code with which opening fails: if a device was requested, no other network
 * replaces it. */
static chorus_status failure_code_of(const struct ch_verbs_choice *choice)
{
    return choice->name[0] != '\0' ? CHORUS_ERR_ARG : CHORUS_ERR_UNSUPPORTED;
}

/* The reason why the last device that CHORUS_VERBS allows cannot be used. */
struct excuse {
    char text[200];
};

/* Set the excuse of a device that cannot be opened; libibverbs reports a file that it may not
 * open as missing. */
static void explain_open_failure(struct ibv_device *device, struct excuse *excuse)
{
    const int error = errno;
    char path[IBV_SYSFS_NAME_MAX + 32];

    (void)snprintf(path, sizeof(path), "/dev/infiniband/%s", device->dev_name);
    if (access(path, R_OK | W_OK) != 0 && errno == EACCES)
        (void)snprintf(excuse->text, sizeof(excuse->text),
                       "%s cannot be opened: this user needs the rights to read and write %s",
                       ibv_get_device_name(device), path);
    else
        (void)snprintf(excuse->text, sizeof(excuse->text), "%s cannot be opened: %s",
                       ibv_get_device_name(device), strerror(error));
}

/* Add the active ports of a device that CHORUS_VERBS allows to ports[*n]; for the others, set
 * the excuse. */
static void add_ports(struct ibv_device *device, const struct ch_verbs_choice *choice,
                      struct port *ports, size_t *n, struct excuse *excuse)
{
    const char *name = ibv_get_device_name(device);
    struct ibv_context *context = ibv_open_device(device);
    struct ibv_device_attr attr;
    struct ibv_port_attr port_attr;

    if (context == NULL) {
        explain_open_failure(device, excuse);
        return;
    }
    if (ibv_query_device(context, &attr) != 0) attr.phys_port_cnt = 0;
    if (choice->port > attr.phys_port_cnt)
        (void)snprintf(excuse->text, sizeof(excuse->text),
                       "%s has %u ports, and CHORUS_VERBS asks for port %u", name,
                       attr.phys_port_cnt, choice->port);
    for (uint8_t p = 1; p <= attr.phys_port_cnt && *n < PORTS_MAX; p++) {
        if (choice->port != 0 && p != choice->port) continue;
        if (ibv_query_port(context, p, &port_attr) == 0 && port_attr.state == IBV_PORT_ACTIVE) {
            ports[(*n)++] = (struct port){device, p, true, ""};
            continue;
        }
        (void)snprintf(excuse->text, sizeof(excuse->text), "port %u of %s is not active", p,
                       name);
    }
    (void)ibv_close_device(context);
}

/* Choose the port to use, among those of all devices, for the `nth` PE of the host. */
static chorus_status choose_port(struct ibv_device **list, const struct ch_verbs_choice *choice,
                                 uint32_t nth, struct port *out)
{
    struct excuse excuse = {"this host has no RDMA device"};
    struct port ports[PORTS_MAX];
    size_t n = 0, near = 0;

    if (choice->name[0] != '\0')
        (void)snprintf(excuse.text, sizeof(excuse.text),
                       "this host has no RDMA device %s, which CHORUS_VERBS asks for; "
                       "ibv_devinfo lists those it has",
                       choice->name);
    for (struct ibv_device **d = list; *d != NULL; d++)
        if (choice->name[0] == '\0' || strcmp(choice->name, ibv_get_device_name(*d)) == 0)
            add_ports(*d, choice, ports, &n, &excuse);
    if (n == 0) return CH_FAIL(failure_code_of(choice), "%s", excuse.text);
    if (n > 1) find_near_ports(ports, n);
    for (size_t i = 0; i < n; i++)
        near += ports[i].is_near;
    nth %= (uint32_t)(near > 0 ? near : n);
    for (size_t i = 0; i < n; i++)
        if ((ports[i].is_near || near == 0) && nth-- == 0) *out = ports[i];
    (void)snprintf(out->why, sizeof(out->why),
                   choice->port != 0      ? "as CHORUS_VERBS says"
                   : n == 1               ? "the only active port"
                   : near > 0 && near < n ? "near the cores of this PE, one of %zu"
                                          : "one of %zu active ports",
                   near > 0 ? near : n);
    return CHORUS_OK;
}

/* --- opening one --- */

/* Set the GID of the device's port: the requested one, or the best. */
static chorus_status choose_gid(const struct ch_verbs_choice *choice,
                                struct ch_verbs_device *device)
{
    struct ibv_gid_entry entries[GIDS_MAX];
    const ssize_t n = ibv_query_gid_table(device->context, entries, GIDS_MAX, 0);
    int i;

    if (n < 0)
        return CH_FAIL(CHORUS_ERR_UNSUPPORTED, "the GIDs of %s cannot be read: %s",
                       device->name, strerror((int)-n));
    if (choice->gid >= 0) {
        for (i = 0; i < n; i++)
            if (entries[i].port_num == device->port &&
                entries[i].gid_index == (uint32_t)choice->gid)
                break;
        if (i == n)
            return CH_FAIL(CHORUS_ERR_ARG,
                           "port %u of %s has no GID %d, which CHORUS_VERBS asks for; "
                           "ibv_devinfo -v lists those it has",
                           device->port, device->name, choice->gid);
    } else {
        i = ch_verbs_gid_choose(entries, (size_t)n, device->port);
        if (i < 0)
            return CH_FAIL(CHORUS_ERR_UNSUPPORTED,
                           "port %u of %s has no GID; give its network device an address",
                           device->port, device->name);
    }
    device->gid = entries[i];
    return CHORUS_OK;
}

/* Set device->where, for messages. */
static void describe_place(struct ch_verbs_device *device)
{
    char address[INET6_ADDRSTRLEN] = "?";
    const union ibv_gid *gid = &device->gid.gid;

    if (is_ipv4(gid))
        (void)inet_ntop(AF_INET, &gid->raw[12], address, sizeof(address));
    else
        (void)inet_ntop(AF_INET6, gid->raw, address, sizeof(address));
    if (device->is_ethernet)
        (void)snprintf(device->where, sizeof(device->where), "%.16s:%u, RoCE v%d, GID %u (%s)",
                       device->name, device->port,
                       device->gid.gid_type == IBV_GID_TYPE_ROCE_V2 ? 2 : 1,
                       device->gid.gid_index, address);
    else
        (void)snprintf(device->where, sizeof(device->where), "%.16s:%u, InfiniBand, LID %u",
                       device->name, device->port, device->port_attr.lid);
}

/* Open the device of the port, and set *out. */
static chorus_status open_port(const struct port *port, const struct ch_verbs_choice *choice,
                               struct ch_verbs_device *out)
{
    struct ch_verbs_device device = {.port = port->number};
    char path[CH_VERBS_NAME_BYTES + 64];
    chorus_status st;

    (void)snprintf(device.name, sizeof(device.name), "%s", ibv_get_device_name(port->device));
    memcpy(device.why, port->why, sizeof(device.why));
    device.context = ibv_open_device(port->device);
    if (device.context == NULL || ibv_query_device(device.context, &device.attr) != 0 ||
        ibv_query_port(device.context, device.port, &device.port_attr) != 0) {
        st = CH_FAIL(failure_code_of(choice), "%s cannot be opened: %s", device.name,
                     strerror(errno));
        goto out_close;
    }
    device.is_ethernet = device.port_attr.link_layer == IBV_LINK_LAYER_ETHERNET;
    (void)snprintf(path, sizeof(path), "/sys/class/infiniband/%s/device", device.name);
    device.is_software = access(path, F_OK) != 0;
    CH_TRY_GOTO(st, choose_gid(choice, &device), out_close);
    describe_place(&device);
    *out = device;
    return CHORUS_OK;

out_close:
    ch_verbs_device_close(&device);
    return st;
}

chorus_status ch_verbs_device_open(const struct ch_verbs_choice *choice, uint32_t nth,
                                   struct ch_verbs_device *out)
{
    struct ibv_device **list = ibv_get_device_list(NULL);
    struct port port;
    chorus_status st;

    if (list == NULL)
        return CH_FAIL(failure_code_of(choice), "this host has no RDMA device: %s",
                       errno == ENOSYS ? "its kernel has no ib_uverbs" : strerror(errno));
    st = choose_port(list, choice, nth, &port);
    if (st == CHORUS_OK) st = open_port(&port, choice, out);
    ibv_free_device_list(list);
    return st;
}

void ch_verbs_device_close(struct ch_verbs_device *device)
{
    if (device->context != NULL) (void)ibv_close_device(device->context);
    device->context = NULL;
}
