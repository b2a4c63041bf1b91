/* SPDX-License-Identifier: Apache-2.0 */
/* halo.c: creation and end of a halo exchange. */
#include "apps/halo.h"

#include "apps/gather.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MESSAGE_BYTES = 300, LINE = 64 };

/* What a PE knows of all while it creates an object. */
struct plan {
    chorus_team_t team;
    chorus_heap heap; /* where the memory of teams is */
    uint32_t me, n_pes;
    struct ch_halo_pe *pes;         /* of each PE */
    uint64_t *first, n_records;     /* the first record of each PE */
    struct ch_halo_record *records; /* of all PEs, one after another */
};

static int refuse(int code, const char *message)
{
    (void)chorusx_fail(code, "chorusx_halo_create", message); /* which returns the code */
    return code;
}

static struct ch_halo_record *own_records(const chorusx_halo_link_t *links, uint64_t n)
{
    struct ch_halo_record *records = calloc(n + 1, sizeof(*records));

    for (uint64_t i = 0; records != NULL && i < n; i++) {
        size_t n_send = 0, n_recv = 0;

        (void)ch_halo_part_count(&links[i].send, &n_send);
        (void)ch_halo_part_count(&links[i].recv, &n_recv);
        records[i] = (struct ch_halo_record){links[i].peer, links[i].tag, n_send, n_recv};
    }
    return records;
}

static int gather_records(struct plan *plan, const chorusx_halo_link_t *links)
{
    uint64_t most = 0;
    struct ch_halo_record *mine;
    void *all = NULL;
    int code;

    plan->first = calloc(plan->n_pes, sizeof(*plan->first));
    for (uint32_t p = 0; plan->first != NULL && p < plan->n_pes; p++) {
        plan->first[p] = plan->n_records;
        plan->n_records += plan->pes[p].n_links;
        if (plan->pes[p].n_links > most) most = plan->pes[p].n_links;
    }
    mine = own_records(links, plan->pes[plan->me].n_links);
    if (plan->first == NULL || mine == NULL)
        code = CHORUS_ERR_NOMEM;
    else if (plan->n_records == 0)
        code = CHORUS_OK;
    else
        code = ch_apps_gather(
            plan->team,
            &(struct ch_apps_blocks){.mine = mine,
                                     .own_bytes = plan->pes[plan->me].n_links * sizeof(*mine),
                                     .all_bytes = plan->n_records * sizeof(*mine),
                                     .most_bytes = most * sizeof(*mine)},
            &all);
    free(mine);
    plan->records = all;
    return code;
}

/* Gather what all PEs have, and fail in the same way on all of them if anything is wrong. */
static int make_plan(struct plan *plan, const struct ch_halo_pe *own,
                     const chorusx_halo_link_t *links)
{
    char message[MESSAGE_BYTES];
    void *pes = NULL;
    int code = ch_apps_gather_equal(plan->team, own, sizeof(*own), &pes);

    plan->pes = pes;
    if (code != CHORUS_OK)
        return refuse(code, "there is no memory for what PEs tell each other");
    code = ch_halo_check_pes(plan->n_pes, plan->pes, message, sizeof(message));
    if (code != CHORUS_OK) return refuse(code, message);
    if (gather_records(plan, links) != CHORUS_OK)
        return refuse(CHORUS_ERR_NOMEM, "there is no memory for the links of all PEs");
    code = ch_halo_check_links(plan->n_pes, plan->pes, plan->first, plan->records, message,
                               sizeof(message));
    return code == CHORUS_OK ? code : refuse(code, message);
}

/* Kernels count the bytes of a message by 32 bits. */
static int check_messages(const struct plan *plan)
{
    for (uint64_t i = 0; i < plan->n_records && plan->heap == CHORUS_HEAP_cuda; i++)
        if (plan->records[i].n_send * plan->pes[0].elem_bytes > INT32_MAX)
            return refuse(CHORUS_ERR_UNSUPPORTED,
                          "a link of a PE sends 2 GiB or more, which is not possible where the "
                          "heap is on GPUs; divide it into several");
    return CHORUS_OK;
}

static void end_plan(struct plan *plan)
{
    free(plan->pes);
    free(plan->first);
    free(plan->records);
}

/* --- memory ------------------------------------------------------------------------------- */
/* Of PE p: first the words of all ways, then two slots of each way. */
static size_t words_bytes(uint64_t n_links)
{
    return (n_links * CH_HALO_WORDS * sizeof(uint64_t) + LINE - 1) / LINE * LINE;
}

static size_t link_bytes(const struct ch_halo_record *r, size_t elem_bytes)
{
    return 2 * (ch_halo_slot_bytes(r->n_recv, elem_bytes) +
                ch_halo_slot_bytes(r->n_send, elem_bytes));
}

static size_t slots_at(const struct plan *plan, uint32_t p, uint64_t link)
{
    size_t at = words_bytes(plan->pes[p].n_links);

    for (uint64_t i = 0; i < link; i++)
        at += link_bytes(&plan->records[plan->first[p] + i], plan->pes[0].elem_bytes);
    return at;
}

static char *allocate(const struct plan *plan)
{
    size_t most = LINE;

    for (uint32_t p = 0; p < plan->n_pes; p++) {
        const size_t bytes = slots_at(plan, p, plan->pes[p].n_links);

        if (bytes > most) most = bytes;
    }
    return chorusx_team_malloc(plan->team, most);
}

/* The words of a way of PE p's link, of both slots, by addresses of this PE. */
static void set_words(const struct plan *plan, char *memory, uint32_t p, uint64_t link, int way,
                      uint64_t *arrived[2], uint64_t *freed[2])
{
    const uint64_t n = plan->pes[p].n_links;
    uint64_t *const words = (uint64_t *)memory + 4 * (uint64_t)way * n + link;

    for (uint64_t slot = 0; slot < 2; slot++) {
        arrived[slot] = words + 2 * slot * n;
        freed[slot] = words + (2 * slot + 1) * n;
    }
}

static char *way_slots(const struct plan *plan, char *memory, uint32_t p, uint64_t link,
                       int way)
{
    const struct ch_halo_record *r = &plan->records[plan->first[p] + link];
    const size_t before =
        way == CH_HALO_FORWARD ? 0 : 2 * ch_halo_slot_bytes(r->n_recv, plan->pes[0].elem_bytes);

    return memory + slots_at(plan, p, link) + before;
}

/* Where a way of link i of this PE, and of its link k at the peer, have their memory. */
static int place_way(struct chorusx_halo *halo, const struct plan *plan, uint32_t i, int way)
{
    const struct ch_halo_record *r = &plan->records[plan->first[plan->me] + i];
    struct ch_halo_way *w = &halo->ways[way][i];
    const uint32_t q = (uint32_t)r->peer;
    const uint64_t k = ch_halo_find_record(&plan->records[plan->first[q]], plan->pes[q].n_links,
                                           (int)plan->me, r->tag);

    w->slots = way_slots(plan, halo->memory, plan->me, i, way);
    set_words(plan, halo->memory, plan->me, i, way, w->arrived, w->freed);
    w->there = way_slots(plan, halo->memory, q, k, way);
    set_words(plan, halo->memory, q, k, way, w->arrived_there, w->freed_there);
    w->direct = chorus_ptr(w->there, (int)w->peer);
    if (w->direct != NULL || w->n_out == 0 || plan->heap == CHORUS_HEAP_cuda) return CHORUS_OK;
    w->staging = malloc(2 * ch_halo_slot_bytes(w->n_out, halo->elem_bytes));
    return w->staging != NULL ? CHORUS_OK : CHORUS_ERR_NOMEM;
}

/* --- what waits for what ------------------------------------------------------------------ */
static bool add_number(uint32_t **list, uint32_t *n, uint32_t number)
{
    uint32_t *more;

    for (uint32_t i = 0; i < *n; i++)
        if ((*list)[i] == number) return true;
    more = realloc(*list, (*n + 1) * sizeof(**list));
    if (more == NULL) return false;
    more[(*n)++] = number;
    *list = more;
    return true;
}

/* For the elements of one link. */
struct order {
    struct chorusx_halo *halo;
    uint32_t *receiver,
        *adder;    /* of each element: the link that receives it, and the last seen */
    uint32_t link; /* that adds to it, + 1 */
    size_t at;     /* how many elements are before this one */
    bool has_memory;
};

/* An element that a link sends. What comes the other way is added to it after what a later link
 * adds, and goes on to the link that receives it. */
static bool order_element(void *arg, size_t element)
{
    struct order *order = arg;
    struct ch_halo_way *reverse_of = order->halo->ways[CH_HALO_REVERSE],
                       *forward = &order->halo->ways[CH_HALO_FORWARD][order->link],
                       *reverse = &reverse_of[order->link];
    const uint32_t from = order->receiver[element], later = order->adder[element];

    if (from != 0) {
        struct ch_halo_way *on = &reverse_of[from - 1];

        if (forward->at_once > order->at) forward->at_once = order->at;
        on->at_once = 0;
        order->has_memory = add_number(&forward->after, &forward->n_after, from - 1) &&
                            add_number(&on->after, &on->n_after, order->link);
    }
    if (order->has_memory && later != 0 && later != order->link + 1)
        order->has_memory = add_number(&reverse->in_after, &reverse->n_in_after, later - 1);
    order->adder[element] = order->link + 1;
    order->at++;
    return order->has_memory;
}

static bool note_receiver(void *arg, size_t element)
{
    struct order *order = arg;

    order->receiver[element] = order->link + 1;
    return true;
}

static bool find_order(struct chorusx_halo *halo, size_t n_elements,
                       const chorusx_halo_link_t *links)
{
    struct order order = {.halo = halo, .has_memory = true};

    order.receiver = calloc(n_elements + 1, sizeof(*order.receiver));
    order.adder = calloc(n_elements + 1, sizeof(*order.adder));
    order.has_memory = order.receiver != NULL && order.adder != NULL;
    for (order.link = 0; order.has_memory && order.link < halo->n; order.link++)
        (void)ch_halo_part_visit(&links[order.link].recv, note_receiver, &order);
    for (uint32_t i = halo->n; order.has_memory && i > 0; i--) {
        order.link = i - 1;
        order.at = 0;
        (void)ch_halo_part_visit(&links[i - 1].send, order_element, &order);
    }
    free(order.receiver);
    free(order.adder);
    return order.has_memory;
}

/* --- the object --------------------------------------------------------------------------- */
static void free_way(struct chorusx_halo *halo, int way)
{
    for (uint32_t i = 0; halo->ways[way] != NULL && i < halo->n; i++) {
        free(halo->ways[way][i].after);
        free(halo->ways[way][i].in_after);
        free(halo->ways[way][i].staging);
    }
    free(halo->ways[way]);
    free(halo->own[way]);
    free(halo->ready[way]);
}

static void free_object(struct chorusx_halo *halo)
{
    for (uint32_t i = 0; halo->links != NULL && i < halo->n; i++) {
        ch_halo_elements_clear(&halo->links[i].send);
        ch_halo_elements_clear(&halo->links[i].recv);
    }
    for (int way = 0; way < CH_HALO_WAYS; way++)
        free_way(halo, way);
    free(halo->links);
    free(halo->skipped);
    free(halo->wanted);
    free(halo);
}

static bool set_link(struct chorusx_halo *halo, uint32_t i, const chorusx_halo_link_t *given)
{
    struct ch_halo_link *link = &halo->links[i];

    link->peer = chorus_team_translate_pe(halo->team, given->peer, CHORUS_TEAM_WORLD);
    if (!ch_halo_elements_set(&link->send, &given->send) ||
        !ch_halo_elements_set(&link->recv, &given->recv))
        return false;
    for (int way = 0; way < CH_HALO_WAYS; way++) {
        struct ch_halo_way *w = &halo->ways[way][i];

        w->peer = link->peer;
        w->n_out = w->at_once = ch_halo_out(halo, way, i)->count;
        w->n_in = ch_halo_in(halo, way, i)->count;
        w->ready = &halo->ready[way][i];
    }
    return true;
}

static bool allocate_links(struct chorusx_halo *halo, uint32_t n)
{
    bool is_made;

    halo->links = calloc(n + 1, sizeof(*halo->links));
    halo->skipped = calloc((size_t)CH_HALO_WORDS * n + 1, sizeof(*halo->skipped));
    halo->wanted = calloc((size_t)CH_HALO_WORDS * n + 1, sizeof(*halo->wanted));
    is_made = halo->links != NULL && halo->skipped != NULL && halo->wanted != NULL;
    for (int way = 0; way < CH_HALO_WAYS; way++) {
        halo->ways[way] = calloc(n + 1, sizeof(*halo->ways[way]));
        halo->own[way] = calloc(n + 1, sizeof(*halo->own[way]));
        halo->ready[way] = calloc(n + 1, sizeof(*halo->ready[way]));
        is_made = is_made && halo->ways[way] != NULL && halo->own[way] != NULL &&
                  halo->ready[way] != NULL;
    }
    return is_made;
}

static struct chorusx_halo *make_object(const struct plan *plan, size_t n_elements,
                                        const chorusx_halo_link_t *links)
{
    struct chorusx_halo *halo = calloc(1, sizeof(*halo));
    bool is_made;

    if (halo == NULL) return NULL;
    halo->team = plan->team;
    halo->elem_bytes = plan->pes[0].elem_bytes;
    halo->n = (uint32_t)plan->pes[plan->me].n_links;
    is_made = allocate_links(halo, halo->n);
    for (uint32_t i = 0; is_made && i < halo->n; i++)
        is_made = set_link(halo, i, &links[i]);
    is_made = is_made && find_order(halo, n_elements, links);
    if (is_made) return halo;
    free_object(halo);
    return NULL;
}

static int place(struct chorusx_halo *halo, const struct plan *plan)
{
    for (uint32_t i = 0; i < halo->n; i++)
        for (int way = 0; way < CH_HALO_WAYS; way++)
            if (place_way(halo, plan, i, way) != CHORUS_OK) return CHORUS_ERR_NOMEM;
    return CHORUS_OK;
}

static int create(struct plan *plan, size_t n_elements, const chorusx_halo_link_t *links,
                  struct chorusx_halo **made_out)
{
    struct chorusx_halo *halo = make_object(plan, n_elements, links);
    char *memory = allocate(plan);
    bool is_made = halo != NULL && memory != NULL;

    if (halo != NULL) halo->memory = memory;
    if (is_made) is_made = place(halo, plan) == CHORUS_OK;
    if (memory != NULL && ch_apps_agree(plan->team, is_made) == CHORUS_OK) {
        *made_out = halo;
        return CHORUS_OK;
    }
    if (halo != NULL) free_object(halo);
    if (memory == NULL || chorusx_team_free(plan->team, memory) != CHORUS_OK)
        return refuse(CHORUS_ERR_NOMEM, NULL); /* with the message of the call */
    return refuse(CHORUS_ERR_NOMEM, "a PE has no memory for its links");
}

int chorusx_halo_create(chorus_team_t team, size_t n_elements, size_t elem_bytes, int n_links,
                        const chorusx_halo_link_t *links, chorusx_halo_t *halo)
{
    const int me = chorus_team_my_pe(team), n_pes = chorus_team_n_pes(team);
    struct plan plan = {.team = team, .me = (uint32_t)me, .n_pes = (uint32_t)n_pes};
    struct ch_halo_pe own;
    int code = ch_apps_check(__func__, team, halo, &plan.heap);

    if (halo != NULL) *halo = CHORUSX_HALO_INVALID;
    if (code != CHORUS_OK || halo == NULL) return code;
    own = ch_halo_check_own(n_pes, n_elements, elem_bytes, n_links, links);
    code = make_plan(&plan, &own, links);
    if (code == CHORUS_OK) code = check_messages(&plan);
    if (code == CHORUS_OK) code = create(&plan, n_elements, links, halo);
    end_plan(&plan);
    if (code != CHORUS_OK || plan.heap == CHORUS_HEAP_host) return code;
    code = ch_halo_gpu_create(*halo);
    if (code == CHORUS_OK) return code;
    if (ch_apps_free((*halo)->team, (*halo)->memory) == CHORUS_OK) free_object(*halo);
    *halo = CHORUSX_HALO_INVALID;
    return code;
}

/* The network may still read it. */
static void keep_staging(struct chorusx_halo *halo)
{
    for (uint32_t i = 0; i < halo->n; i++)
        for (int way = 0; way < CH_HALO_WAYS; way++)
            halo->ways[way][i].staging = NULL;
}

int chorusx_halo_destroy(chorusx_halo_t halo)
{
    int code;

    if (halo == CHORUSX_HALO_INVALID) return CHORUS_OK;
    if (halo->array != NULL && halo->failed == CHORUS_OK)
        return chorusx_fail(CHORUS_ERR_STATE, __func__,
                            "an exchange is under way; call chorusx_halo_wait before");
    code = ch_halo_gpu_free(halo);
    if (code == CHORUS_OK) code = ch_apps_free(halo->team, halo->memory);
    if (code != CHORUS_OK) keep_staging(halo);
    free_object(halo);
    return code;
}
