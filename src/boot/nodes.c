/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nodes.c: determines which PEs are on which host. Every PE publishes what it knows of its own
 * host, and all PEs compute the same result from these data.
 */
#include "base/text.h"
#include "boot/boot.h"
#include "boot/place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NAME_BYTES = 64, MACHINE_BYTES = 192, PRETENDED_BYTES = 32 };

struct claim {
    uint64_t n_pretended;        /* value of CHORUS_NODES */
    char name[NAME_BYTES];       /* value of CHORUS_NODE; "" if it is not set */
    char machine[MACHINE_BYTES]; /* host name, boot and network namespace; "": the launcher has
                                    all PEs on one host */
    uint32_t n_cores;            /* from the launcher; 0: count `cores` */
    uint32_t quota;              /* see ch_place_mask */
    struct ch_place_mask cores;
};

/* Read the first line of a file; "" if it cannot be read. */
static void read_line(const char *path, char *out, size_t bytes)
{
    FILE *file = fopen(path, "re");

    out[0] = '\0';
    if (file == NULL) return;
    if (fgets(out, (int)bytes, file) == NULL) out[0] = '\0';
    out[strcspn(out, "\n")] = '\0';
    (void)fclose(file);
}

/* Write a name of this machine. PEs with equal names can pass each other descriptors, by
 * sockets of the namespace. The host name comes first, and ends at a blank. */
static chorus_status name_machine(char out[MACHINE_BYTES])
{
    char host[NAME_BYTES + 1] = "", boot_id[64], space[64];
    ssize_t n;

    (void)gethostname(host, NAME_BYTES);
    errno = 0;
    read_line("/proc/sys/kernel/random/boot_id", boot_id, sizeof(boot_id));
    if (errno == EMFILE || errno == ENFILE)
        return CH_FAIL(CHORUS_ERR_SYSTEM,
                       "the host of this PE cannot be determined: %s; " CH_LIMIT_ADVICE,
                       strerror(errno));
    n = readlink("/proc/self/ns/net", space, sizeof(space) - 1);
    space[n > 0 ? n : 0] = '\0';
    (void)snprintf(out, MACHINE_BYTES, "%s %s %s", host, boot_id, space);
    return CHORUS_OK;
}

/* Set what this PE knows of its own host; fail if its settings contradict each other. */
static chorus_status fill_claim(struct claim *claim, const struct ch_boot *boot,
                                const struct ch_options *options)
{
    claim->n_pretended = options->nodes;
    if (boot->ops->serve != NULL) CH_TRY(name_machine(claim->machine));
    claim->n_cores = boot->n_cores;
    if (boot->n_cores == 0) claim->quota = ch_place_own_cores(&claim->cores);
    if (strlen(options->node) >= NAME_BYTES)
        return CH_FAIL(CHORUS_ERR_ARG,
                       "CHORUS_NODE is \"%.20s...\"; expected less than %d bytes",
                       options->node, NAME_BYTES);
    if (options->node[0] != '\0' && options->nodes != 0)
        return CH_FAIL(CHORUS_ERR_ARG,
                       "CHORUS_NODES and CHORUS_NODE are both set; unset one of them");
    if (options->nodes > boot->n)
        return CH_FAIL(
            CHORUS_ERR_ARG,
            "CHORUS_NODES is %llu, but the job has %u PE%s; expected at most one host "
            "for each PE",
            (unsigned long long)options->nodes, boot->n, boot->n == 1 ? "" : "s");
    (void)snprintf(claim->name, NAME_BYTES, "%s", options->node);
    return CHORUS_OK;
}

/* Fail if CHORUS_NODES differs, or if only some PEs have CHORUS_NODE. */
static chorus_status compare_claims(const struct claim *claims, uint32_t n)
{
    for (uint32_t pe = 1; pe < n; pe++) {
        if (claims[pe].n_pretended != claims[0].n_pretended)
            return CH_FAIL(CHORUS_ERR_ARG,
                           "CHORUS_NODES is %llu on PE %u and %llu on PE 0; set it to the same "
                           "value on all PEs",
                           (unsigned long long)claims[pe].n_pretended, pe,
                           (unsigned long long)claims[0].n_pretended);
        if ((claims[pe].name[0] == '\0') != (claims[0].name[0] == '\0'))
            return CH_FAIL(CHORUS_ERR_ARG,
                           "CHORUS_NODE is %s on PE %u and %s on PE 0; set it for all PEs or "
                           "for none",
                           claims[pe].name[0] == '\0' ? "not set" : "set", pe,
                           claims[0].name[0] == '\0' ? "not set" : "set");
    }
    return CHORUS_OK;
}

/* Fail if PEs share memory by CHORUS_NODE, but are not on the same machine. */
static chorus_status check_shared(const struct claim *claims, const uint32_t *nodes, uint32_t n)
{
    for (uint32_t pe = 1; pe < n; pe++)
        for (uint32_t other = 0; other < pe; other++) {
            if (nodes[other] != nodes[pe]) continue;
            if (strcmp(claims[pe].machine, claims[other].machine) == 0) break;
            return CH_FAIL(
                CHORUS_ERR_ARG,
                "CHORUS_NODE is \"%s\" on PE %u and on PE %u, but they cannot share memory: "
                "one is on \"%s\", the other on \"%s\"; give each host its own name",
                claims[pe].name, pe, other, claims[pe].machine, claims[other].machine);
        }
    return CHORUS_OK;
}

/* Returns the text that is equal for PEs of one host. */
static const char *host_key_of(const struct claim *claim)
{
    return claim->name[0] != '\0' ? claim->name : claim->machine;
}

/* Number the hosts by first appearance. With CHORUS_NODES, hosts are blocks of PEs, as equal as
 * possible, of at least one PE. Returns their number. */
static uint32_t number_nodes(const struct claim *claims, uint32_t n, uint32_t *nodes_out)
{
    const uint64_t k = claims[0].n_pretended < n ? claims[0].n_pretended : n;
    uint32_t n_nodes = 0;

    for (uint32_t pe = 0; pe < n; pe++) {
        uint32_t other = 0;

        if (k != 0) {
            nodes_out[pe] = (uint32_t)(pe * k / n);
            n_nodes = (uint32_t)k;
            continue;
        }
        while (other < pe && strcmp(host_key_of(&claims[pe]), host_key_of(&claims[other])) != 0)
            other++;
        nodes_out[pe] = other < pe ? nodes_out[other] : n_nodes++;
    }
    return n_nodes;
}

/* Returns the names of the hosts: pointers, and after them the texts, in one allocation that
 * the caller frees. Null: no memory. */
static const char *const *name_nodes(const struct claim *claims, const uint32_t *nodes,
                                     uint32_t n, uint32_t n_nodes)
{
    char **hosts = calloc(n_nodes, sizeof(*hosts) + NAME_BYTES), *text;
    uint32_t named = 0;

    if (hosts == NULL) return NULL;
    text = (char *)(hosts + n_nodes);
    for (uint32_t pe = 0; pe < n; pe++) {
        const char *const key = host_key_of(&claims[pe]);

        if (nodes[pe] != named) continue;
        hosts[named] = text + (size_t)named * NAME_BYTES;
        if (claims[pe].n_pretended != 0)
            (void)snprintf(hosts[named], NAME_BYTES, "pretended-%u", named);
        else
            (void)snprintf(hosts[named], NAME_BYTES, "%.*s", (int)strcspn(key, " "), key);
        named++;
    }
    return (const char *const *)hosts;
}

/* Returns why the PEs of the claims are on several hosts, for struct ch_boot. */
static const char *why_apart(const struct claim *claims)
{
    if (claims[0].n_pretended != 0) return "CHORUS_NODES pretends another host";
    return claims[0].name[0] != '\0' ? "CHORUS_NODE names another host" : "another host";
}

/* Returns the number of cores that the PEs on the machine of PE `pe` may use together; *pes_out
 * is the number of these PEs. */
static uint32_t count_machine_cores(const struct claim *claims, uint32_t n, uint32_t pe,
                                    uint32_t *pes_out)
{
    struct ch_place_mask all = {{0}};
    uint32_t quota = UINT32_MAX;

    *pes_out = 0;
    for (uint32_t other = 0; other < n; other++) {
        const struct claim *const c = &claims[other];
        if (strcmp(c->machine, claims[pe].machine) != 0) continue;
        ++*pes_out;
        for (size_t i = 0; i < CH_PLACE_MASK_WORDS; i++)
            all.words[i] |= c->cores.words[i];
        if (c->quota < quota) quota = c->quota;
    }
    return claims[pe].n_cores != 0 ? claims[pe].n_cores : ch_place_mask_count(&all, quota);
}

/* Set n_cores, n_beside and is_crowded of the boot. */
static void set_core_counts(struct ch_boot *boot, const struct claim *claims)
{
    uint32_t beside;

    boot->is_crowded = false;
    boot->n_cores = count_machine_cores(claims, boot->n, boot->me, &boot->n_beside);
    for (uint32_t pe = 0; pe < boot->n; pe++) {
        if (pe > 0 && strcmp(claims[pe].machine, claims[pe - 1].machine) == 0) continue;
        if (count_machine_cores(claims, boot->n, pe, &beside) < beside) boot->is_crowded = true;
    }
}

/* Set the members of the boot that ch_boot_locate sets, from the claims of all PEs. */
static chorus_status assign_nodes(struct ch_boot *boot, const struct claim *claims)
{
    uint32_t *nodes = calloc(boot->n, sizeof(*nodes)), n_nodes;
    chorus_status status = CHORUS_ERR_SYSTEM;

    CH_TRY_GOTO(status, compare_claims(claims, boot->n), out_nodes);
    if (nodes == NULL) goto out_memory;
    n_nodes = number_nodes(claims, boot->n, nodes);
    CH_TRY_GOTO(status, check_shared(claims, nodes, boot->n), out_nodes);
    set_core_counts(boot, claims);
    boot->n_nodes = n_nodes;
    if (n_nodes == 1) goto out_nodes;
    boot->hosts = name_nodes(claims, nodes, boot->n, n_nodes);
    if (boot->hosts == NULL) goto out_memory;
    boot->nodes = nodes;
    boot->why_apart = why_apart(claims);
    return CHORUS_OK;

out_memory:
    status = CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for the hosts of %u PEs", boot->n);
out_nodes:
    free(nodes);
    return status;
}

/* Get the claims of all PEs; mine: the status with which `own` was filled. Claims differ in few
 * jobs, so the PEs first exchange digests, since every PE gets every byte. */
static chorus_status exchange_claims(struct ch_boot *boot, const struct claim *own,
                                     chorus_status mine, struct claim *claims_out)
{
    uint64_t digest = ch_hash(CH_HASH_START, own, sizeof(*own)),
             *digests = calloc(boot->n, sizeof(*digests));
    const struct ch_vote vote = {"start", mine, &digest, sizeof(digest)};
    chorus_status status;
    bool differ = false;

    if (digests == NULL)
        return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for the hosts of %u PEs", boot->n);
    status = ch_boot_vote(boot, &vote, digests);
    for (uint32_t pe = 0; pe < boot->n && status == CHORUS_OK; pe++) {
        claims_out[pe] = *own;
        if (digests[pe] != digests[0]) differ = true;
    }
    free(digests);
    if (status != CHORUS_OK || !differ) return status;
    return boot->ops->exchange(boot, own, sizeof(*own), -1, claims_out, NULL);
}

chorus_status ch_boot_locate(struct ch_boot *boot, const struct ch_options *options)
{
    struct claim own, *claims = calloc(boot->n, sizeof(*claims));
    chorus_status status;

    if (claims == NULL)
        return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for the hosts of %u PEs", boot->n);
    memset(&own, 0, sizeof(own)); /* the digest covers padding, too */
    status = exchange_claims(boot, &own, fill_claim(&own, boot, options), claims);
    if (status == CHORUS_OK) status = assign_nodes(boot, claims);
    free(claims);
    return status;
}

void ch_boot_forget_nodes(struct ch_boot *boot)
{
    /* Allocated here, and const for all other code. */
    free((void *)(uintptr_t)boot->nodes);
    free((void *)(uintptr_t)boot->hosts);
}
