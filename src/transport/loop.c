/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loop.c: a network within one host, for tests; its PEs do not use loads and stores of each
 * other's memory. Operations that are posted are queued without copying any data, until
 * progress executes them in the peer's memory, which is mapped: puts of a link in any order,
 * words and atomics after the puts, links in any order. It serves all PEs or, if the transport
 * `mapped` is also allowed, those that are treated as PEs of other hosts (network.c).
 */
#include "transport/net.h"

#include "base/exec_host.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum kind { PUT, GET, SAY, AMO };

struct post {
    enum kind kind;
    enum ch_amo op;
    char *there;
    const void *src;
    void *dst; /* destination of a get; of the old value of an amo, or null */
    size_t bytes;
    uint64_t value, compare;
};

/* One context's link to one peer. */
struct link {
    uint32_t ctx, pe;
    struct post *posts; /* in the order in which they were posted */
    size_t n, room;
    struct link *next;
};

struct ch_net {
    struct ch_net_terms terms;
    struct link *links;
    size_t n_posts;  /* of all links */
    int fd;          /* an eventfd: operations were posted */
    uint64_t random; /* not 0 */
    bool is_out_of_memory;
    bool is_abandoned;
};

static uint32_t draw(struct ch_net *net, uint32_t below)
{
    net->random ^= net->random << 13; /* xorshift64 */
    net->random ^= net->random >> 7;
    net->random ^= net->random << 17;
    return (uint32_t)(net->random >> 32) % below;
}

static chorus_status loop_open(const struct ch_net_terms *terms, struct ch_net **net_out)
{
    struct ch_net *net;

    for (uint32_t pe = 0; pe < terms->n; pe++)
        if (terms->maps[pe] == CH_NET_NO_MAP)
            return CH_FAIL(CHORUS_ERR_UNSUPPORTED,
                           "loop delivers through mapped memory, and PE %u is on another host",
                           pe);
    net = calloc(1, sizeof(*net));
    if (net == NULL) return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for a network");
    net->terms = *terms;
    net->random = terms->me + 1;
    net->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    *net_out = net;
    return CHORUS_OK;
}

static void loop_close(struct ch_net *net)
{
    struct link *link, *next;

    if (net == NULL) return;
    for (link = net->links; link != NULL; link = next) {
        next = link->next;
        free(link->posts);
        free(link);
    }
    if (net->fd >= 0) (void)close(net->fd);
    free(net);
}

static uint32_t loop_caps(const struct ch_net *net)
{
    (void)net;
    return 0;
}

static void loop_card(const struct ch_net *net, char card_out[CH_NET_CARD_BYTES])
{
    (void)net;
    memset(card_out, 0, CH_NET_CARD_BYTES);
}

static chorus_status loop_meet(struct ch_net *net, const char (*cards)[CH_NET_CARD_BYTES])
{
    (void)net, (void)cards;
    return CHORUS_OK;
}

static chorus_status loop_attach(struct ch_net *net, void *base, size_t bytes,
                                 uint64_t *key_out)
{
    (void)net, (void)base, (void)bytes;
    *key_out = 0;
    return CHORUS_OK;
}

static void loop_detach(struct ch_net *net, void *base)
{
    (void)net, (void)base;
}

static struct link *link_of(const struct ch_net *net, uint32_t ctx, uint32_t pe)
{
    struct link *link = net->links;

    while (link != NULL && (link->ctx != ctx || link->pe != pe))
        link = link->next;
    return link;
}

/* A link with room for one more operation; null: no memory. */
static struct link *make_room(struct ch_net *net, uint32_t ctx, uint32_t pe)
{
    struct link *link = link_of(net, ctx, pe);
    struct post *posts;

    if (link == NULL) {
        link = calloc(1, sizeof(*link));
        if (link == NULL) return NULL;
        link->ctx = ctx;
        link->pe = pe;
        link->next = net->links;
        net->links = link;
    }
    if (link->n < link->room) return link;
    posts = realloc(link->posts, (2 * link->room + 8) * sizeof(*posts));
    if (posts == NULL) return NULL;
    link->posts = posts;
    link->room = 2 * link->room + 8;
    return link;
}

static void append(struct ch_net *net, uint32_t ctx, uint32_t pe, struct post post)
{
    struct link *link = make_room(net, ctx, pe);
    const uint64_t one = 1;

    if (link == NULL) {
        net->is_out_of_memory = true;
        return;
    }
    post.there += net->terms.maps[pe];
    link->posts[link->n++] = post;
    if (net->n_posts++ == 0 && write(net->fd, &one, sizeof(one)) < 0)
        return; /* was set already */
}

static void loop_put(struct ch_net *net, uint32_t ctx, uint32_t pe, char *there,
                     const void *src, size_t bytes)
{
    append(net, ctx, pe,
           (struct post){.kind = PUT, .there = there, .src = src, .bytes = bytes});
}

static void loop_say(struct ch_net *net, uint32_t ctx, uint32_t pe, uint64_t *there,
                     uint64_t value)
{
    append(net, ctx, pe, (struct post){.kind = SAY, .there = (char *)there, .value = value});
}

static void loop_get(struct ch_net *net, uint32_t ctx, uint32_t pe, void *dst,
                     const char *there, size_t bytes)
{
    append(net, ctx, pe,
           (struct post){
               .kind = GET, .there = (char *)(uintptr_t)there, .dst = dst, .bytes = bytes});
}

static void loop_amo(struct ch_net *net, uint32_t ctx, uint32_t pe, enum ch_amo op, void *there,
                     size_t bytes, uint64_t value, uint64_t compare, uint64_t *fetched_out)
{
    append(net, ctx, pe,
           (struct post){.kind = AMO,
                         .op = op,
                         .there = there,
                         .dst = fetched_out,
                         .bytes = bytes,
                         .value = value,
                         .compare = compare});
}

/* Whole words are loaded one by one: a record of calls is read while its PE writes it. */
static void get(const struct post *post)
{
    const uint64_t *const from = (const uint64_t *)(const void *)post->there;
    uint64_t *const to = (uint64_t *)post->dst;

    if (((uintptr_t)from | (uintptr_t)to | post->bytes) % sizeof(*to) != 0) {
        ch_get_bytes(post->dst, post->there, post->bytes);
        return;
    }
    for (size_t i = 0; i < post->bytes / sizeof(*to); i++)
        to[i] = __atomic_load_n(&from[i], __ATOMIC_ACQUIRE);
}

static void execute(const struct post *post)
{
    uint64_t fetched;

    switch (post->kind) {
    case PUT:
        ch_put_bytes(post->there, post->src, post->bytes);
        break;
    case GET:
        get(post);
        break;
    case SAY:
        ch_word_store((uint64_t *)(void *)post->there, post->value, CH_DATA);
        break;
    case AMO:
        fetched = ch_amo_apply(post->op, post->there, post->bytes, post->value, post->compare);
        if (post->dst != NULL) memcpy(post->dst, &fetched, sizeof(fetched));
        break;
    }
}

/* Number of operations at the front of the link that may be executed in any order; at least 1,
 * the first. */
static size_t free_posts(const struct link *link)
{
    size_t n = 0;

    while (n < link->n && (link->posts[n].kind == PUT || link->posts[n].kind == GET))
        n++;
    return n > 0 ? n : 1;
}

static void do_one(struct ch_net *net, struct link *link)
{
    const size_t i = draw(net, (uint32_t)free_posts(link));

    execute(&link->posts[i]);
    link->n--;
    net->n_posts--;
    memmove(&link->posts[i], &link->posts[i + 1], (link->n - i) * sizeof(link->posts[0]));
}

/* Some calls do nothing, others execute some operations of some links. */
static chorus_status loop_progress(struct ch_net *net, bool *moved_out)
{
    const size_t before = net->n_posts;
    uint64_t count;

    if (net->is_out_of_memory)
        return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for the operations of a network");
    if (net->is_abandoned) return CH_FAIL(CHORUS_ERR_TIMEOUT, "loop: %s", CH_NET_ABANDONED);
    if (before == 0) return CHORUS_OK;
    for (struct link *link = net->links; link != NULL; link = link->next)
        while (link->n > 0 && draw(net, 4) != 0)
            do_one(net, link);
    if (net->n_posts == 0 && read(net->fd, &count, sizeof(count)) < 0) return CHORUS_OK;
    *moved_out = net->n_posts != before;
    return CHORUS_OK;
}

static bool is_of(const struct link *link, uint32_t ctx, uint32_t pe)
{
    return link->ctx == ctx && (pe == CH_NET_ALL || link->pe == pe);
}

static bool loop_is_done(struct ch_net *net, uint32_t ctx, uint32_t pe)
{
    for (const struct link *link = net->links; link != NULL; link = link->next)
        if (is_of(link, ctx, pe) && link->n != 0) return false;
    return !net->is_abandoned;
}

static bool loop_is_sent(struct ch_net *net, uint32_t ctx, uint32_t pe)
{
    for (const struct link *link = net->links; link != NULL; link = link->next)
        for (size_t i = 0; is_of(link, ctx, pe) && i < link->n; i++)
            if (link->posts[i].src != NULL) return false;
    return !net->is_abandoned;
}

static bool uses_memory(const struct link *link)
{
    for (size_t i = 0; i < link->n; i++)
        if (link->posts[i].src != NULL || link->posts[i].dst != NULL) return true;
    return false;
}

/* From then on, progress executes nothing. */
static void loop_abandon(struct ch_net *net, uint32_t pe)
{
    for (const struct link *link = net->links; link != NULL; link = link->next)
        if (link->pe == pe && uses_memory(link)) net->is_abandoned = true;
}

static int loop_watch(struct ch_net *net)
{
    return net->fd;
}

static void loop_describe(const struct ch_net *net, uint32_t pe, char why_out[CH_NET_WHY_BYTES])
{
    (void)net, (void)pe;
    (void)snprintf(why_out, CH_NET_WHY_BYTES, "loop: memory of this host, by a queue");
}

const struct ch_net_ops ch_net_loop = {
    .name = "loop",
    .open = loop_open,
    .close = loop_close,
    .caps = loop_caps,
    .card = loop_card,
    .meet = loop_meet,
    .attach = loop_attach,
    .detach = loop_detach,
    .put = loop_put,
    .say = loop_say,
    .get = loop_get,
    .amo = loop_amo,
    .is_sent = loop_is_sent,
    .is_done = loop_is_done,
    .abandon = loop_abandon,
    .progress = loop_progress,
    .watch = loop_watch,
    .describe = loop_describe,
};
