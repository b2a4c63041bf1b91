/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mail.c: exchanges of words through the mailboxes of a team, for the library's own votes and
 * barriers.
 *
 * Each PE sends every PE a word, in a packet that belongs to the sender. PEs of one host store
 * it directly. To other hosts, words are sent by the leaders, the first PE of each host: a
 * leader sends the words of its host to the other leaders, and stores the words that it
 * receives for the PEs of its host. With h hosts, a leader needs h - 1 connections and the
 * other PEs none, while n PEs that write to each other would need n * n. A packet is used
 * again two exchanges later, when its reader has been in the exchange between, so it does not
 * matter who wrote it.
 *
 * All PEs wait for the PEs of their own host first and then for the others, in their order,
 * and leaders forward in the same order. If a wait fails, the PE that it waited for is
 * therefore the first PE that is missing, and not one that forwards a word.
 *
 * Leaders of more than MESH_MOST hosts would need too many connections. They are then connected
 * as a tree, in which a leader forwards each word to all neighbours but the one that sent it.
 * They wait for all PEs in their order, so none waits for a word that another cannot forward
 * yet. A word may be missing because a leader on its way is: a PE that has heard nothing of
 * such a leader names that one.
 *
 * Some PEs of a team, a group, can also vote without the others. Groups may overlap, so the
 * team has no common epoch for them. Any two PEs count the exchanges that they were both in, in
 * whatever groups. Both have the same count, since both make these calls in the same order, and
 * neither is more than one exchange ahead of the other, so two packets are enough.
 */
#include "team/differ.h"
#include "team/table.h"

#include <string.h>

/* The packet from peer `from` for peer `to`, in a set. */
static struct ch_packet *packet_in(const struct ch_team *team, uint32_t to, uint64_t set,
                                   uint32_t from)
{
    return (struct ch_packet *)(void *)team->members[to].mail + set * team->n + from;
}

/* Wait for a packet of a peer. */
static chorus_status await_packet(const struct ch_team *team, uint32_t from,
                                  const struct ch_packet *packet, uint64_t flag,
                                  uint64_t *value_out)
{
    const bool ends_if_refused = team->check != NULL && !team->is_ending;
    struct ch_wait_policy policy = ends_if_refused ? *team->refusable : *team->policy;
    struct ch_wait w = {0};
    chorus_status status = CHORUS_OK;

    if (ends_if_refused) policy.is_concerned = ch_team_meeting_is_concerned;
    while (!ch_packet_load(packet, flag, value_out) && status == CHORUS_OK)
        status = ch_wait_slow(&policy, &w);
    ch_wait_end(&policy, &w);
    if (status == CHORUS_OK) return CHORUS_OK;
    return ch_team_fail_wait(team, from, status);
}

/* Store a packet for a peer. A network delivers the data before the flag. */
static void post_packet(const struct ch_team *team, uint32_t to, struct ch_packet *packet,
                        uint64_t value, uint64_t flag)
{
    struct ch_link *link = team->members[to].link;

    if (link == NULL) {
        ch_packet_store(packet, value, flag);
        ch_notify(team->policy, team->peers[to].door);
        return;
    }
    ch_link_post_word(link, &packet->data, value, CH_DATA);
    ch_link_post_word(link, &packet->flag, flag, CH_DATA);
}

/* The set of packets of the current exchange: one of two, so that a PE that is one exchange
 * ahead overwrites no unread packet. The last exchange has a set of its own and no number:
 * after a call that failed or was refused, some PEs may have begun an exchange that others have
 * not. */
static uint64_t current_set(const struct ch_team *team)
{
    return team->is_ending ? CH_MAIL_LAST : team->mail_epoch % 2;
}

/* The flag of the packets of the current exchange. */
static uint64_t current_flag(const struct ch_team *team)
{
    return team->is_ending ? 1 : team->mail_epoch;
}

enum { MESH_MOST = 32, FAN = 16 };

/* Are the leaders connected as a tree? nodes: null on one host. */
static bool is_tree(const struct ch_nodes *nodes)
{
    return nodes != NULL && nodes->count > MESH_MOST;
}

/* The host to which a leader on host `at` sends what is for host `to`; `at` itself if that is
 * the one. */
static uint32_t next_host(const struct ch_nodes *nodes, uint32_t at, uint32_t to)
{
    if (!is_tree(nodes)) return to;
    while (to > at) {
        const uint32_t parent = (to - 1) / FAN;

        if (parent == at) return to;
        to = parent;
    }
    return to == at ? at : (at - 1) / FAN;
}

/* The packet from `from` for this PE in the current exchange. */
static struct ch_packet *packet_of(const struct ch_team *team, uint32_t from)
{
    return packet_in(team, team->me, current_set(team), from);
}

/* Does the way from host `at` to host `to` lead over `host`? */
static bool is_on_way(const struct ch_nodes *nodes, uint32_t at, uint32_t to, uint32_t host)
{
    while (at != to && at != host)
        at = next_host(nodes, at, to);
    return at == host;
}

/* Has the leader of the host sent or forwarded any word in this exchange? */
static bool has_sent_any(const struct ch_team *team, uint32_t host)
{
    const struct ch_nodes *nodes = &team->levels->nodes;
    uint64_t value;

    for (uint32_t pe = 0; pe < team->n; pe++)
        if (is_on_way(nodes, nodes->node[team->me], nodes->node[pe], host) &&
            ch_packet_load(packet_of(team, pe), current_flag(team), &value))
            return true;
    return false;
}

/* The PE whose absence explains that the word of `from` is not here: the first leader on its
 * way of whom nothing was heard, or else `from`. */
static uint32_t find_missing(const struct ch_team *team, uint32_t from)
{
    const struct ch_nodes *nodes = &team->levels->nodes;
    uint32_t at = nodes->node[team->me];

    while (at != nodes->node[from]) {
        at = next_host(nodes, at, nodes->node[from]);
        if (!has_sent_any(team, at)) return ch_node_pe(nodes, at, 0);
    }
    return from;
}

/* Wait for the word of `from` in the current exchange. If that fails, the message names the PE
 * that is missing. */
static chorus_status wait_for_mail(const struct ch_team *team, uint32_t from,
                                   uint64_t *value_out)
{
    const chorus_status status =
        await_packet(team, from, packet_of(team, from), current_flag(team), value_out);

    if (status == CHORUS_OK || team->levels == NULL || !is_tree(&team->levels->nodes))
        return status;
    return ch_team_fail_wait(team, find_missing(team, from), status);
}

/* Write the word of `from` to the mailbox of PE `to`. */
static void post_mail(const struct ch_team *team, uint32_t to, uint32_t from, uint64_t value)
{
    post_packet(team, to, packet_in(team, to, current_set(team), from), value,
                current_flag(team));
}

/* Write the word of `from` to the PEs of this host, beginning after this PE, so that not all
 * PEs write to the same PE at once. */
static void post_near(const struct ch_team *team, uint32_t from, uint64_t value)
{
    const struct ch_nodes *nodes = team->levels != NULL ? &team->levels->nodes : NULL;
    const uint32_t node = nodes != NULL ? nodes->node[team->me] : 0;
    const uint32_t local = nodes != NULL ? nodes->local[team->me] : team->me;
    const uint32_t n = nodes != NULL ? ch_node_pes(nodes, node) : team->n;

    for (uint32_t k = 1; k <= n; k++) {
        const uint32_t at = (local + k) % n;
        const uint32_t to = nodes != NULL ? ch_node_pe(nodes, node, at) : at;

        if (to != team->me || from == team->me) post_mail(team, to, from, value);
    }
}

/* Send the word of `from` to the leaders that this leader is connected to, except the one that
 * sent it. */
static void post_leaders(const struct ch_team *team, uint32_t from, uint64_t value)
{
    const struct ch_nodes *nodes = &team->levels->nodes;
    const uint32_t own = nodes->node[team->me];
    const uint32_t sender = next_host(nodes, own, nodes->node[from]);

    if (sender != own && !is_tree(nodes)) return; /* which sent it to all */
    for (uint32_t k = 1; k < nodes->count; k++) {
        const uint32_t to = (own + k) % nodes->count;

        if (to != sender && next_host(nodes, own, to) == to)
            post_mail(team, ch_node_pe(nodes, to, 0), from, value);
    }
}

enum part { NEAR, FAR, ALL };

/* Wait for the words of the PEs of this host, of the others, or of all; a leader forwards them.
 * `bytes` of each are stored in blobs_out, if not null, `stride` bytes apart. */
static chorus_status receive_words(const struct ch_team *team, enum part part, size_t bytes,
                                   size_t stride, char *blobs_out)
{
    const struct ch_nodes *nodes = team->levels != NULL ? &team->levels->nodes : NULL;
    const bool is_leader = nodes != NULL && nodes->local[team->me] == 0;
    uint64_t word = 0;

    for (uint32_t pe = 0; pe < team->n; pe++) {
        const bool is_near = nodes == NULL || nodes->node[pe] == nodes->node[team->me];

        if (part != ALL && is_near != (part == NEAR)) continue;
        CH_TRY(wait_for_mail(team, pe, &word));
        if (is_leader && !is_near) post_near(team, pe, word);
        if (is_leader && pe != team->me) post_leaders(team, pe, word);
        if (blobs_out != NULL) memcpy(blobs_out + pe * stride, &word, bytes);
    }
    return CHORUS_OK;
}

/* Send a word of each PE to every PE; `bytes` of it are stored in blobs_out, unless that is
 * null. */
static chorus_status exchange_word(struct ch_team *team, uint64_t mine, size_t bytes,
                                   size_t stride, char *blobs_out)
{
    const struct ch_nodes *nodes = team->levels != NULL ? &team->levels->nodes : NULL;

    team->mail_epoch++;
    post_near(team, team->me, mine);
    if (nodes != NULL && nodes->local[team->me] == 0) post_leaders(team, team->me, mine);
    if (is_tree(nodes) && nodes->local[team->me] == 0)
        return receive_words(team, ALL, bytes, stride, blobs_out);
    CH_TRY(receive_words(team, NEAR, bytes, stride, blobs_out));
    return nodes != NULL ? receive_words(team, FAR, bytes, stride, blobs_out) : CHORUS_OK;
}

/* ch_voters.exchange among all PEs of a team, word by word. */
static chorus_status voters_exchange(void *self, const void *blob, size_t bytes,
                                     void *blobs_out)
{
    for (size_t at = 0; at < bytes; at += sizeof(uint64_t)) {
        const size_t part = bytes - at < sizeof(uint64_t) ? bytes - at : sizeof(uint64_t);

        uint64_t word = 0;

        memcpy(&word, (const char *)blob + at, part);
        CH_TRY(exchange_word(self, word, part, bytes, (char *)blobs_out + at));
    }
    return CHORUS_OK;
}

/* ch_voters.number: the number in the job of a PE of the team. */
static uint32_t voters_number(const void *self, uint32_t voter)
{
    return ((const struct ch_team *)self)->members[voter].world;
}

struct ch_voters ch_team_voters(struct ch_team *team)
{
    return (struct ch_voters){team->n, team, voters_exchange, voters_number, NULL};
}

chorus_status ch_team_sync_by_mail(struct ch_team *team)
{
    return exchange_word(team, 0, 0, 0, NULL);
}

chorus_status ch_team_sync_last(struct ch_team *team)
{
    return exchange_word(team, 0, 0, 0, NULL);
}

/* --- groups ------------------------------------------------------------------------------- */
/* The packet from `from` for `to` in their exchange `count` in groups. Its sets come after
 * those of the team. */
static struct ch_packet *group_packet(const struct ch_team *team, uint32_t to, uint32_t from,
                                      uint64_t count)
{
    return packet_in(team, to, 2 + count % 2, from);
}

/* Exchange up to 8 bytes of each PE of the group; those of PE i are stored at blobs_out + i *
 * stride. */
static chorus_status exchange_part(const struct ch_group *group, const char *blob, size_t bytes,
                                   size_t stride, char *blobs_out)
{
    struct ch_team *const team = group->team;
    uint64_t word = 0;

    memcpy(&word, blob, bytes);
    for (uint32_t i = 0; i < group->n; i++) {
        const uint32_t to = group->pes[i];
        const uint64_t count = ++team->members[to].n_group_mails;

        post_packet(team, to, group_packet(team, to, team->me, count), word, count);
    }
    for (uint32_t i = 0; i < group->n; i++) {
        const uint32_t from = group->pes[i];
        const uint64_t count = team->members[from].n_group_mails;

        CH_TRY(
            await_packet(team, from, group_packet(team, team->me, from, count), count, &word));
        memcpy(blobs_out + i * stride, &word, bytes);
    }
    return CHORUS_OK;
}

/* ch_voters.exchange among the PEs of a group, word by word. */
static chorus_status group_exchange(void *self, const void *blob, size_t bytes, void *blobs_out)
{
    for (size_t at = 0; at < bytes; at += sizeof(uint64_t)) {
        const size_t part = bytes - at < sizeof(uint64_t) ? bytes - at : sizeof(uint64_t);

        CH_TRY(
            exchange_part(self, (const char *)blob + at, part, bytes, (char *)blobs_out + at));
    }
    return CHORUS_OK;
}

/* ch_voters.number: the number in the job of a PE of the group. */
static uint32_t group_number(const void *self, uint32_t voter)
{
    const struct ch_group *const group = self;

    return group->team->members[group->pes[voter]].world;
}

struct ch_voters ch_group_voters(struct ch_group *group)
{
    return (struct ch_voters){group->n, group, group_exchange, group_number, NULL};
}
