/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chorus-info-links.c: how each PE of this job reaches each other PE, and why not by another
 * transport.
 *
 * Every process of the job runs this. Connections are opened at first use, so each PE reads a
 * word of each other PE before it describes the connection.
 */
#include "chorus-info.h"

#include "api/context.h"
#include "base/option.h"
#include "chorus/chorus.h"
#include "transport/link.h"
#include "transport/links.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_CHARS = 8, TEXT_BYTES = CH_LINK_WHY_BYTES + 128 };

/* The reason why this kind of network is not used; null: it is used. */
static const char *why_not(const struct ch_context *context, const struct ch_kinds *kinds,
                           uint32_t kind)
{
    const char *tried;

    if (context->links->network == NULL) return "no peer is on another host";
    tried = ch_links_why_not(context->links, kind);
    if (tried == NULL || *tried != '\0') return tried;
    if (kinds->is_allowed[kind]) return "an earlier one is used";
    return "CHORUS_TRANSPORT excludes it";
}

static void print_kind(const char *name, const char *why, const char *what_for)
{
    (void)printf("%-4s %-*s %s\n", why == NULL ? "yes:" : "no:", NAME_CHARS, name,
                 why == NULL ? what_for : why);
}

/* The transports in the order of preference, which is the same on all PEs. */
static chorus_status print_kinds(const struct ch_context *context)
{
    struct ch_kinds kinds;

    CH_TRY(ch_kinds_read(context->options.transport, &kinds));
    print_kind("mapped", kinds.may_map ? NULL : "CHORUS_TRANSPORT excludes it",
               "peers of the same host");
    for (uint32_t kind = 0; kind < CH_KIND_COUNT && ch_kind_ops[kind] != NULL; kind++)
        print_kind(ch_kind_ops[kind]->name, why_not(context, &kinds, kind),
                   "peers of other hosts");
    return CHORUS_OK;
}

static void describe(const struct ch_context *context, uint32_t pe, char out[TEXT_BYTES])
{
    const struct ch_boot *boot = context->boot;
    const char *host = boot->nodes == NULL ? "this host" : boot->hosts[ch_boot_node(boot, pe)];
    char how[CH_LINK_WHY_BYTES];

    if (ch_links_network_link(context->links, pe) != NULL)
        ch_links_describe(context->links, pe, how);
    else
        (void)snprintf(how, sizeof(how), "mapped: %s, by load and store",
                       ch_heap_device(context->heap) != NULL ? "memory of its GPU"
                                                             : "shared memory");
    (void)snprintf(out, TEXT_BYTES, "on %.100s, %s", host, how);
}

static void print_peers(const struct ch_context *context, uint32_t lo, uint32_t hi,
                        const char *text)
{
    (void)printf("PE %u to PE %u", context->boot->me, lo);
    if (hi - lo > 1) (void)printf("-%u", hi - 1);
    (void)printf(" %s\n", text);
}

/* One line for consecutive PEs that are reached in the same way. */
static void print_links(const struct ch_context *context)
{
    char text[TEXT_BYTES] = "", next[TEXT_BYTES];
    uint32_t lo = 0;

    for (uint32_t pe = 0; pe < context->boot->n; pe++) {
        if (pe == context->boot->me)
            *next = '\0';
        else
            describe(context, pe, next);
        if (pe > 0 && strcmp(text, next) != 0) {
            if (*text != '\0') print_peers(context, lo, pe, text);
            lo = pe;
        }
        memcpy(text, next, sizeof(text));
    }
    if (*text != '\0') print_peers(context, lo, context->boot->n, text);
}

static chorus_status touch_peers(struct ch_context *context)
{
    uint64_t *word = chorus_malloc(sizeof(*word)), seen;

    if (word == NULL) return CHORUS_ERR_NOMEM; /* it has set its message */
    for (uint32_t pe = 0; pe < context->boot->n; pe++)
        CH_TRY(ch_links_get(context->links, CH_CTX_DEFAULT, &seen, word, sizeof(seen), pe));
    return ch_context_quiet_and_sync(context);
}

chorus_status info_links(const struct info_args *args)
{
    struct ch_context *context;

    (void)args;
    /* This program prints them. */
    (void)setenv(ch_variable_name(CH_VARIABLE_ERRORS), "return", 0);
    CH_TRY((chorus_status)chorus_init());
    CH_TRY(ch_context_require("chorus-info", &context));
    CH_TRY(touch_peers(context));
    if (context->boot->me == 0) CH_TRY(print_kinds(context));
    print_links(context);
    if (context->boot->n == 1) (void)printf("PE 0 has no peers: this is a job of one PE\n");
    chorus_finalize();
    return CHORUS_OK;
}
