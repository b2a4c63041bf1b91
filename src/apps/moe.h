/* SPDX-License-Identifier: Apache-2.0 */
/*
 * moe.h: the state of dispatch and combine.
 *
 * A call sends a list of units to each peer: tokens, or in the first two exchanges of a route a
 * header and entries. Each ordered pair of PEs has two message slots at the receiver, for odd
 * and even messages, and a unit is never divided between two messages. The sender writes a
 * slot, then the number of the message to the slot's word `arrived` at the receiver; the
 * receiver reads the slot, then writes the number to the slot's word `freed` at the sender,
 * which waits for it before it writes the slot again. Both PEs know how many units a call has
 * and where messages end. So there is no barrier, and a PE may be in a later call than a peer.
 * A slot has words of its own because puts with signals are not ordered among each other.
 *
 * Combine reads messages in place: the rows of a peer come in the order of tokens and entries,
 * and the receiver adds up one token after another. It waits for the peers of the next token
 * alone. A row that is first in the messages of a peer is of no earlier token than this one, so
 * every row that is waited for can be sent: PEs do not wait for each other in a circle.
 */
#ifndef CH_APPS_MOE_H
#define CH_APPS_MOE_H

#include "chorus/apps/moe.h"

#include "apps/moe_gpu.h"
#include "apps/moe_values.h"

#include <stdbool.h>

/* A token's entry that names an expert, as PEs send it. */
struct ch_moe_entry {
    uint32_t token;
    uint16_t slot, expert; /* the expert's number on its PE */
};

/* The entries of tokens that go from a PE to another one, in the order of tokens and slots. */
struct ch_moe_list {
    size_t n_tokens, n_entries;
    struct ch_moe_entry *entries;
    size_t *first; /* of each token its first entry, and n_entries behind the last token */
    size_t *rows;  /* of each entry its row in the receiver's array; null at the sender */
};

/* What a PE passes on to one of its host: tokens of a list, by their numbers in it. */
struct ch_moe_forward {
    size_t n, *tokens;
};

/* The tokens between this PE and its peer on the rail on another host: those that it sends to
 * PEs of that host, and those that it passes on. The experts of their entries are rails. */
struct ch_moe_via {
    uint32_t peer;
    struct ch_moe_list out, in;
    struct ch_moe_forward *forwards; /* of each rail */
    char *tokens;                    /* of `in`, as they came in this call */
    size_t own_at;                   /* the next of those for this PE itself */
};

struct chorusx_moe_route {
    struct chorusx_moe *moe;
    struct ch_moe_list *out, *in; /* of each PE of the team */
    struct ch_moe_via *vias;      /* of each host; null: dispatch has one level */
    int32_t *pe_of; /* of each entry of this PE's tokens: the PE of its row, or why it has none
                     */
    uint64_t mask;  /* number of the mask that it was made with */
    chorusx_moe_route_info_t info;
    size_t *counts, *firsts;
    chorusx_moe_origin_t *origins;
};

/* What a PE tells all others of its part of a route; counts of all experts follow. */
struct ch_moe_header {
    uint64_t n_tokens;
    uint64_t mask;    /* a hash */
    uint64_t problem; /* enum ch_moe_problem */
    uint64_t token, slot;
    int64_t value;
    uint32_t counts[];
};

struct ch_moe_peer {
    int pe; /* number in the job */
    bool is_active;
    char *there, *direct; /* its slots for this PE, by the address of this PE, and as they are
                             mapped, or null */
    char *staging;        /* if they are not: as many bytes, from which they are put */
    uint64_t sent, taken; /* messages since the object was created */
    size_t n_out, n_in;   /* units of the call */
    size_t out_at, in_at; /* the next ones */
    size_t in_end;        /* of the message that is being read */
    size_t row_at;        /* combine: the next row in it */
    bool is_open;         /* a message is being read */
    bool is_wanted;       /* the next message is waited for */
};

/* How a kind of call moves units. `peer` is a number in the team. */
struct ch_moe_kind {
    /* Where a message that begins with unit `at` ends. */
    size_t (*end)(const struct chorusx_moe *moe, uint32_t peer, bool is_out, size_t at);
    /* Whether units [at, end) can be sent; null: always. */
    bool (*is_ready)(const struct chorusx_moe *moe, uint32_t peer, size_t at, size_t end);
    /* Write units [at, end) to a slot; returns their bytes. */
    size_t (*pack)(const struct chorusx_moe *moe, uint32_t peer, size_t at, size_t end,
                   char *slot);
    /* Read those of a message; null: merge does. */
    void (*take)(struct chorusx_moe *moe, uint32_t peer, size_t at, size_t end,
                 const char *slot);
    /* What the PE has for itself; null: nothing, or merge does. */
    void (*local)(struct chorusx_moe *moe);
    /* Read what has arrived; sets is_wanted of peers, and returns whether there was any. */
    bool (*merge)(struct chorusx_moe *moe);
};

/* The call that is under way. */
struct ch_moe_call {
    const struct ch_moe_kind *kind; /* null: none is */
    struct chorusx_moe_route *route;
    const char *from, *from_scales;
    char *to, *to_scales;
    const float *weights;
    chorus_type type;
    size_t token, own_row; /* combine: the next token, and the next row of this PE itself */
    struct ch_moe_header *headers; /* of a route: those of all PEs */
};

struct chorusx_moe {
    chorus_team_t team;
    chorusx_moe_config_t config; /* with the values that 0 stands for */
    uint32_t me, n_pes, experts_each;
    size_t slot_bytes, header_bytes;
    struct ch_moe_peer *peers;
    unsigned char *is_on; /* of each expert, then of each PE */
    /* Of each PE its host and its number there, which is that of its rail, and the reverse, in
     * the order of hosts. */
    uint32_t *host_of, *rail_of, *pes_of_hosts;
    uint32_t n_hosts, host_pes;
    bool has_levels; /* several hosts have the same number of PEs, more than one */
    bool is_active, are_all_active;
    uint64_t mask_number, mask_hash;
    char *memory; /* symmetric: words, then two slots for each PE; on GPUs the arrays of gpu */
    bool is_on_gpu;
    struct ch_moe_gpu gpu; /* if so; the parts of messages are not used then */
    struct ch_moe_call call;
    uint64_t dropped, n_routes;
    int failed;        /* the code of a wait that failed */
    const char **rows; /* combine: of a token */
    float *weights;
    /* For waits: of all words, which are waited for, and for which values. */
    int *skipped;
    uint64_t *wanted;
};

/* --- messages (moe_wire.c) -------------------------------------------------------------- */
enum { CH_MOE_WORDS = 4 }; /* for each peer: arrived and freed of two slots */

size_t ch_moe_words_bytes(uint32_t n_pes);

/* Send what can be sent of moe->call. n_out and n_in of the peers are set. */
void ch_moe_start(struct chorusx_moe *moe);

/* Do the rest, and end the call. */
int ch_moe_finish(const char *function, struct chorusx_moe *moe);

/* The same of a call that the program began before. */
int ch_moe_end(const char *function, struct chorusx_moe_route *route,
               const struct ch_moe_kind *kind);

/* For merge: whether the next message of a peer is there; its rows; and that it has been read.
 */
bool ch_moe_open(struct chorusx_moe *moe, uint32_t peer);
const char *ch_moe_slot(const struct chorusx_moe *moe, uint32_t peer);
void ch_moe_close(struct chorusx_moe *moe, uint32_t peer);

/* --- what is wrong (moe_check.c) -------------------------------------------------------- */
enum { CH_MOE_MESSAGE_BYTES = 300 };

enum ch_moe_problem {
    CH_MOE_FINE,
    CH_MOE_NULL,
    CH_MOE_TOO_MANY_TOKENS,
    CH_MOE_BAD_EXPERT,   /* value: what the entry has */
    CH_MOE_EXPERT_TWICE, /* value: the expert */
    CH_MOE_NO_MEMORY,
};

/* Configurations of all PEs, as they are gathered. The same result on all PEs. */
struct ch_moe_given {
    chorusx_moe_config_t config;
    uint64_t is_given;
};
int ch_moe_check_config(uint32_t n_pes, const struct ch_moe_given *all, char *message,
                        size_t bytes);

/* Sets the problem of a header, if there is one. */
void ch_moe_check_tokens(const struct chorusx_moe *moe, const int32_t *topk_idx,
                         size_t n_tokens, struct ch_moe_header *header);

/* The same on all PEs: what the first PE with a problem has, or counts beyond a capacity. */
int ch_moe_check_headers(const struct chorusx_moe *moe, const struct ch_moe_header *headers,
                         char *message, size_t bytes);

/* The header of PE p among those of all. */
static inline struct ch_moe_header *
ch_moe_header_of(const struct chorusx_moe *moe, const struct ch_moe_header *headers, uint32_t p)
{
    return (struct ch_moe_header *)((char *)headers + p * moe->header_bytes);
}

/* Whether a call with a route can begin. */
int ch_moe_check_begin(const char *function, const struct chorusx_moe_route *route);

/* Fails, since an array is null. */
int ch_moe_refuse_null(const char *function, const char *what);

/* --- lists of a route (moe_list.c) ------------------------------------------------------ */
/* Lists of what this PE sends, with room for all entries; false: there is no memory. */
bool ch_moe_allocate_out(struct chorusx_moe_route *route, const struct ch_moe_header *own);

/* Put all entries into them, and the reason of those without a row into pe_of. */
void ch_moe_fill_out(struct chorusx_moe_route *route, const int32_t *topk_idx);

/* Count what this PE receives, and make room for it; false: there is no memory. */
bool ch_moe_allocate_in(struct chorusx_moe_route *route, const struct ch_moe_header *headers);

/* Leave only the entries within the capacity, in both. next: room for a number for each expert
 * of a PE. */
void ch_moe_settle_out(struct chorusx_moe_route *route, const struct ch_moe_header *headers,
                       size_t *next);
void ch_moe_settle_in(struct chorusx_moe_route *route, size_t *next);

bool ch_moe_allocate_list(struct ch_moe_list *list, size_t n_entries, bool has_rows);
void ch_moe_clear_list(struct ch_moe_list *list);
void ch_moe_free_lists(struct ch_moe_list *lists, uint32_t n);

/* --- routes (moe_route.c) --------------------------------------------------------------- */
/* The end of a message of entries. */
size_t ch_moe_end_entries(const struct chorusx_moe *moe, uint32_t peer, bool is_out, size_t at);

/* --- dispatch (moe_dispatch.c) ---------------------------------------------------------- */
size_t ch_moe_end_tokens(const struct chorusx_moe *moe, uint32_t peer, bool is_out, size_t at);

/* Write token i of a list and its scales. */
void ch_moe_pack_token(const struct chorusx_moe *moe, const struct ch_moe_list *list, size_t i,
                       char *to);

/* Copy token i of a list to the rows of its experts. */
void ch_moe_spread(const struct chorusx_moe *moe, const struct ch_moe_list *list, size_t i,
                   const char *token, const char *scales);

/* What the PE has for itself. */
void ch_moe_copy_own_tokens(struct chorusx_moe *moe);

/* --- two levels (moe_hosts.c) ----------------------------------------------------------- */
/* Collective: of each PE the first one of its host, in memory of malloc; null: there is none.
 */
uint32_t *ch_moe_gather_leaders(const struct chorusx_moe *moe);

/* Set what an object knows of hosts. */
void ch_moe_set_hosts(struct chorusx_moe *moe, const uint32_t *leaders);

/* Exchange what goes to other hosts by a route, of which pe_of is set. */
int ch_moe_make_vias(struct chorusx_moe_route *route, const struct ch_moe_header *headers);
void ch_moe_free_vias(struct chorusx_moe_route *route);

/* Dispatch of a route with vias, and what it sets of peers before. */
extern const struct ch_moe_kind ch_moe_dispatch_by_hosts;
void ch_moe_set_units_by_hosts(struct chorusx_moe *moe);

/* --- on GPUs (moe_stream.c) -------------------------------------------------------------- */
/* As ch_moe_check_config, of what is supported there. */
int ch_moe_check_gpu(uint32_t n_pes, const chorusx_moe_config_t *config, char *message,
                     size_t bytes);

/* Bytes of symmetric memory. */
size_t ch_moe_gpu_bytes(const struct chorusx_moe *moe);

/* Set gpu, and store what kernels find in memory; false: there is no memory on the host. */
bool ch_moe_set_gpu(struct chorusx_moe *moe);

/* Collective: ERR_UNSUPPORTED if kernels of a PE do not access the memory of all others. */
int ch_moe_check_near(const struct chorusx_moe *moe);

/* Let kernels see what is active. */
void ch_moe_store_active(const struct chorusx_moe *moe);

/* chorusx_moe_dropped. */
int ch_moe_gpu_dropped(const struct chorusx_moe *moe, uint64_t *dropped_out);

/* --- sums (moe_sum.c) ------------------------------------------------------------------- */
/* Bytes of a value of a type that combine has; 0: it does not have it. */
size_t ch_moe_value_bytes(chorus_type type);

/* out = weights[0] * rows[0] + weights[1] * rows[1] + ..., n of them, of `bytes` bytes. */
void ch_moe_add_up(const struct chorusx_moe *moe, size_t n, char *out);

#endif /* CH_APPS_MOE_H */
