/* SPDX-License-Identifier: Apache-2.0 */
#include "net_pes.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const char *const host_names[NET_PES_MAX] = {"alpha", "beta", "gamma", "delta"};

/* What a PE tells the others of a part of its memory. */
struct part {
    char *there;
    uint64_t key;
    int pid;
    int fd;
};

/* By words, since sanitizers look at each access. */
static uint64_t filling(size_t word, uint64_t seed)
{
    const uint64_t mixed = (word + 1) * 0x9e3779b97f4a7c15u + seed * 0xc2b2ae3d27d4eb4fu;

    return mixed ^ mixed >> 29;
}

void net_fill(void *memory, size_t bytes, uint64_t seed)
{
    for (size_t at = 0; at < bytes; at += sizeof(uint64_t)) {
        const uint64_t word = filling(at, seed);

        memcpy((char *)memory + at, &word,
               bytes - at < sizeof(word) ? bytes - at : sizeof(word));
    }
}

bool net_is_filled(const void *memory, size_t bytes, uint64_t seed)
{
    for (size_t at = 0; at < bytes; at += sizeof(uint64_t)) {
        const uint64_t word = filling(at, seed);

        if (memcmp((const char *)memory + at, &word,
                   bytes - at < sizeof(word) ? bytes - at : sizeof(word)) != 0)
            return false;
    }
    return true;
}

static void *map_memory(int fd, size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    EXPECT(memory != MAP_FAILED);
    return memory;
}

void net_pe_attach(struct net_pe *pe, char *memory, size_t bytes, uint64_t *key_out)
{
    const struct ch_memory_part part = {.base = memory, .bytes = bytes};

    EXPECT(pe->ops->attach(pe->ep, &part, key_out) == CHORUS_OK);
}

void net_pe_share(struct net_pe *pe, char *part, size_t bytes, uint64_t key,
                  char *there_out[NET_PES_MAX])
{
    struct part mine = {.there = part, .key = key}, all[PES_MAX];
    struct ch_memory_part part_of_peer = {.bytes = bytes};

    EXPECT(pe->boot->ops->exchange(pe->boot, &mine, sizeof(mine), -1, all, NULL) == CHORUS_OK);
    for (uint32_t i = 0; i < pe->n; i++) {
        there_out[i] = all[i].there;
        part_of_peer.base = all[i].there;
        if (i != pe->me && (pe->ops->caps(pe->ep) & CH_LINK_KEYS) != 0)
            EXPECT(pe->ops->add_peer_key(pe->ep, i, &part_of_peer, all[i].key) == CHORUS_OK);
    }
}

/* Networks that deliver by mapped memory find every peer's at another address than its own. */
static void map_peers(struct net_pe *pe)
{
    const int fd = memfd_create("net_pes", MFD_CLOEXEC);
    struct part mine, all[PES_MAX];
    int fds[PES_MAX];

    EXPECT(fd >= 0 && ftruncate(fd, (off_t)pe->bytes) == 0);
    pe->memory = map_memory(fd, pe->bytes);
    mine.there = pe->memory;
    EXPECT(pe->boot->ops->exchange(pe->boot, &mine, sizeof(mine), fd, all, fds) == CHORUS_OK);
    for (uint32_t i = 0; i < pe->n; i++) {
        if (i != pe->me) pe->maps[i] = (char *)map_memory(fds[i], pe->bytes) - all[i].there;
        pe->there[i] = all[i].there;
        (void)close(fds[i]);
    }
    (void)close(fd);
}

static void meet_network(struct net_pe *pe, unsigned char secret)
{
    char mine[CH_LINK_ADDRESS_BYTES], all[PES_MAX][CH_LINK_ADDRESS_BYTES];
    struct ch_link_terms terms = {.options = &pe->options,
                                  .me = pe->me,
                                  .n = pe->n,
                                  .nodes = pe->nodes,
                                  .hosts = pe->hosts,
                                  .maps = pe->maps,
                                  .door = &pe->door};

    memset(terms.secret, secret, sizeof(terms.secret));
    EXPECT(pe->ops->open(&terms, &pe->ep) == CHORUS_OK);
    pe->ops->address(pe->ep, mine);
    EXPECT(pe->boot->ops->exchange(pe->boot, mine, sizeof(mine), -1, all, NULL) == CHORUS_OK);
    EXPECT(pe->ops->meet(pe->ep, (const char(*)[CH_LINK_ADDRESS_BYTES])all) == CHORUS_OK);
}

void net_pe_open(struct net_pe *pe, struct ch_boot *boot, const struct ch_link_ops *ops,
                 size_t bytes, unsigned char secret)
{
    uint64_t key = 0;

    memset(pe, 0, sizeof(*pe));
    pe->boot = boot;
    pe->ops = ops;
    pe->options = pes_options(0);
    pe->options.transport = ops->name; /* what would not be taken unasked is, too */
    pe->me = boot->me;
    pe->n = boot->n;
    pe->next = (pe->me + 1) % pe->n;
    pe->before = (pe->me + pe->n - 1) % pe->n;
    pe->bytes = bytes;
    for (uint32_t i = 0; i < pe->n; i++) {
        pe->nodes[i] = i;
        pe->hosts[i] = host_names[i];
    }
    map_peers(pe);
    meet_network(pe, secret);
    net_pe_attach(pe, pe->memory, bytes, &key);
    net_pe_share(pe, pe->memory, bytes, key, pe->there);
}

void net_pe_close(struct net_pe *pe)
{
    pe->ops->close(pe->ep);
    for (uint32_t i = 0; i < pe->n; i++)
        (void)munmap(pe->there[i] + pe->maps[i], pe->bytes);
}

bool net_pe_step(struct net_pe *pe)
{
    bool has_moved = false;
    const chorus_status st = pe->ops->progress(pe->ep, &has_moved);

    EXPECT(st == CHORUS_OK);
    if (!has_moved) (void)sched_yield();
    return st == CHORUS_OK;
}

static uint64_t n_came; /* PEs that came to a meeting, of all meetings of the job */

void net_run(uint32_t n, pes_main pe_main)
{
    n_came = 0;
    pes_run_threads(n, pe_main);
}

void net_pe_meet(struct net_pe *pe)
{
    const uint64_t came = __atomic_add_fetch(&n_came, 1, __ATOMIC_ACQ_REL);
    const uint64_t all = (came + pe->n - 1) / pe->n * pe->n;

    while (__atomic_load_n(&n_came, __ATOMIC_ACQUIRE) < all && net_pe_step(pe))
        ;
}

void net_pe_sent(struct net_pe *pe, uint32_t ctx, uint32_t to)
{
    while (!pe->ops->is_sent(pe->ep, ctx, to) && net_pe_step(pe))
        ;
}

void net_pe_done(struct net_pe *pe, uint32_t ctx, uint32_t to)
{
    while (!pe->ops->is_done(pe->ep, ctx, to) && net_pe_step(pe))
        ;
}

void net_pe_word(struct net_pe *pe, const uint64_t *word, uint64_t least)
{
    while (__atomic_load_n(word, __ATOMIC_ACQUIRE) < least && net_pe_step(pe))
        ;
}

chorus_status net_pe_fails(struct net_pe *pe)
{
    chorus_status st = CHORUS_OK;
    bool has_moved;

    while (st == CHORUS_OK) {
        st = pe->ops->progress(pe->ep, &has_moved);
        (void)sched_yield();
    }
    return st;
}
