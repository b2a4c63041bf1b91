/* SPDX-License-Identifier: Apache-2.0 */
/*
 * link_loop.c: a network within one host, for tests, and the shortest example of a kind of
 * link; its PEs do not use loads and stores of each other's memory. Operations that are posted
 * are queued without copying any data, until progress executes them in the peer's memory, which
 * is mapped: puts of a link in any order, signals and atomics after the puts, links in any
 * order. It serves all PEs or, if the transport `mapped` is also allowed, those that are
 * treated as PEs of other hosts (transport/open.c).
 */
#include "transport/link.h"

#include "base/exec_host.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum kind { PUT, GET, AMO };

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

struct ch_endpoint {
    struct ch_link_terms terms;
    struct link *links;
    size_t n_posts;  /* of all links */
    int fd;          /* an eventfd: operations were posted */
    uint64_t random; /* not 0 */
    bool is_out_of_memory;
    bool is_abandoned;
};

static uint32_t draw(struct ch_endpoint *ep, uint32_t below)
{
    ep->random ^= ep->random << 13; /* xorshift64 */
    ep->random ^= ep->random >> 7;
    ep->random ^= ep->random << 17;
    return (uint32_t)(ep->random >> 32) % below;
}

static chorus_status loop_open(const struct ch_link_terms *terms, struct ch_endpoint **ep_out)
{
    struct ch_endpoint *ep;

    for (uint32_t pe = 0; pe < terms->n; pe++)
        if (terms->maps[pe] == CH_LINK_NO_MAP)
            return CH_FAIL(CHORUS_ERR_UNSUPPORTED,
                           "loop delivers through mapped memory, and PE %u is on another host",
                           pe);
    ep = calloc(1, sizeof(*ep));
    if (ep == NULL) return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for a network");
    ep->terms = *terms;
    ep->random = terms->me + 1;
    ep->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    *ep_out = ep;
    return CHORUS_OK;
}

static void loop_close(struct ch_endpoint *ep)
{
    struct link *link, *next;

    if (ep == NULL) return;
    for (link = ep->links; link != NULL; link = next) {
        next = link->next;
        free(link->posts);
        free(link);
    }
    if (ep->fd >= 0) (void)close(ep->fd);
    free(ep);
}

static uint32_t loop_caps(const struct ch_endpoint *ep)
{
    (void)ep;
    return 0;
}

static void loop_card(const struct ch_endpoint *ep, char card_out[CH_LINK_ADDRESS_BYTES])
{
    (void)ep;
    memset(card_out, 0, CH_LINK_ADDRESS_BYTES);
}

static chorus_status loop_meet(struct ch_endpoint *ep,
                               const char (*cards)[CH_LINK_ADDRESS_BYTES])
{
    (void)ep, (void)cards;
    return CHORUS_OK;
}

static chorus_status loop_attach(struct ch_endpoint *ep, const struct ch_memory_part *part,
                                 uint64_t *key_out)
{
    (void)ep;
    if (part->kind != CH_MEMORY_HOST)
        return CH_FAIL(CHORUS_ERR_UNSUPPORTED,
                       "loop cannot attach %zu KiB of GPU memory: it moves data by the CPU, "
                       "which does not access that memory; copy the data through host memory",
                       part->bytes >> 10);
    *key_out = 0;
    return CHORUS_OK;
}

static void loop_detach(struct ch_endpoint *ep, void *base)
{
    (void)ep, (void)base;
}

static struct link *link_of(const struct ch_endpoint *ep, uint32_t ctx, uint32_t pe)
{
    struct link *link = ep->links;

    while (link != NULL && (link->ctx != ctx || link->pe != pe))
        link = link->next;
    return link;
}

/* A link with room for one more operation; null: no memory. */
static struct link *make_room(struct ch_endpoint *ep, uint32_t ctx, uint32_t pe)
{
    struct link *link = link_of(ep, ctx, pe);
    struct post *posts;

    if (link == NULL) {
        link = calloc(1, sizeof(*link));
        if (link == NULL) return NULL;
        link->ctx = ctx;
        link->pe = pe;
        link->next = ep->links;
        ep->links = link;
    }
    if (link->n < link->room) return link;
    posts = realloc(link->posts, (2 * link->room + 8) * sizeof(*posts));
    if (posts == NULL) return NULL;
    link->posts = posts;
    link->room = 2 * link->room + 8;
    return link;
}

static void append(struct ch_endpoint *ep, uint32_t ctx, uint32_t pe, struct post post)
{
    struct link *link = make_room(ep, ctx, pe);
    const uint64_t one = 1;

    if (link == NULL) {
        ep->is_out_of_memory = true;
        return;
    }
    post.there += ep->terms.maps[pe];
    link->posts[link->n++] = post;
    if (ep->n_posts++ == 0 && write(ep->fd, &one, sizeof(one)) < 0)
        return; /* was set already */
}

static chorus_status loop_put(struct ch_endpoint *ep, uint32_t ctx, uint32_t pe, char *there,
                              const void *src, size_t bytes)
{
    append(ep, ctx, pe, (struct post){.kind = PUT, .there = there, .src = src, .bytes = bytes});
    return CHORUS_OK;
}

static chorus_status loop_get(struct ch_endpoint *ep, uint32_t ctx, uint32_t pe, void *dst,
                              const char *there, size_t bytes)
{
    append(ep, ctx, pe,
           (struct post){
               .kind = GET, .there = (char *)(uintptr_t)there, .dst = dst, .bytes = bytes});
    return CHORUS_OK;
}

static chorus_status loop_amo(struct ch_endpoint *ep, uint32_t ctx, uint32_t pe, enum ch_amo op,
                              void *there, size_t bytes, uint64_t value, uint64_t compare,
                              uint64_t *fetched_out)
{
    append(ep, ctx, pe,
           (struct post){.kind = AMO,
                         .op = op,
                         .there = there,
                         .dst = fetched_out,
                         .bytes = bytes,
                         .value = value,
                         .compare = compare});
    return CHORUS_OK;
}

static chorus_status loop_put_signal(struct ch_endpoint *ep, uint32_t ctx, uint32_t pe,
                                     const struct ch_put_signal *put)
{
    if (put->bytes != 0) CH_TRY(loop_put(ep, ctx, pe, put->dest, put->source, put->bytes));
    return loop_amo(ep, ctx, pe, put->op, put->word, sizeof(*put->word), put->value, 0, NULL);
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

static void do_one(struct ch_endpoint *ep, struct link *link)
{
    const size_t i = draw(ep, (uint32_t)free_posts(link));

    execute(&link->posts[i]);
    link->n--;
    ep->n_posts--;
    memmove(&link->posts[i], &link->posts[i + 1], (link->n - i) * sizeof(link->posts[0]));
}

/* Some calls do nothing, others execute some operations of some links. */
static chorus_status loop_progress(struct ch_endpoint *ep, bool *moved_out)
{
    const size_t before = ep->n_posts;
    uint64_t count;

    if (ep->is_out_of_memory)
        return CH_FAIL(CHORUS_ERR_SYSTEM, "no memory for the operations of a network");
    if (ep->is_abandoned) return CH_FAIL(CHORUS_ERR_TIMEOUT, "loop: %s", CH_LINK_ABANDONED);
    if (before == 0) return CHORUS_OK;
    for (struct link *link = ep->links; link != NULL; link = link->next)
        while (link->n > 0 && draw(ep, 4) != 0)
            do_one(ep, link);
    if (ep->n_posts == 0 && read(ep->fd, &count, sizeof(count)) < 0) return CHORUS_OK;
    *moved_out = ep->n_posts != before;
    return CHORUS_OK;
}

static bool is_of(const struct link *link, uint32_t ctx, uint32_t pe)
{
    return link->ctx == ctx && (pe == CH_LINK_ALL || link->pe == pe);
}

static bool loop_is_done(struct ch_endpoint *ep, uint32_t ctx, uint32_t pe)
{
    for (const struct link *link = ep->links; link != NULL; link = link->next)
        if (is_of(link, ctx, pe) && link->n != 0) return false;
    return !ep->is_abandoned;
}

static bool loop_is_sent(struct ch_endpoint *ep, uint32_t ctx, uint32_t pe)
{
    for (const struct link *link = ep->links; link != NULL; link = link->next)
        for (size_t i = 0; is_of(link, ctx, pe) && i < link->n; i++)
            if (link->posts[i].src != NULL) return false;
    return !ep->is_abandoned;
}

static bool uses_memory(const struct link *link)
{
    for (size_t i = 0; i < link->n; i++)
        if (link->posts[i].src != NULL || link->posts[i].dst != NULL) return true;
    return false;
}

/* From then on, progress executes nothing. */
static void loop_abandon(struct ch_endpoint *ep, uint32_t pe)
{
    for (const struct link *link = ep->links; link != NULL; link = link->next)
        if (link->pe == pe && uses_memory(link)) ep->is_abandoned = true;
}

static int loop_watch(struct ch_endpoint *ep)
{
    return ep->fd;
}

static void loop_describe(const struct ch_endpoint *ep, uint32_t pe,
                          char why_out[CH_LINK_WHY_BYTES])
{
    (void)ep, (void)pe;
    (void)snprintf(why_out, CH_LINK_WHY_BYTES, "loop: memory of this host, by a queue");
}

const struct ch_link_ops ch_link_loop = {
    .name = "loop",
    .open = loop_open,
    .close = loop_close,
    .caps = loop_caps,
    .address = loop_card,
    .meet = loop_meet,
    .attach = loop_attach,
    .detach = loop_detach,
    .put = loop_put,
    .put_signal = loop_put_signal,
    .get = loop_get,
    .amo = loop_amo,
    .is_sent = loop_is_sent,
    .is_done = loop_is_done,
    .abandon = loop_abandon,
    .progress = loop_progress,
    .watch = loop_watch,
    .describe = loop_describe,
};
