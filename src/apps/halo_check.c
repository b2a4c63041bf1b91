/* SPDX-License-Identifier: Apache-2.0 */
/* halo_check.c: what is wrong with the links of a PE, or does not match those of a peer. */
#include "apps/halo.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- a PE's own links --------------------------------------------------------------------- */
struct own_check {
    const chorusx_halo_link_t *links;
    uint32_t *receiver; /* of each element: its link + 1, or 0 */
    size_t n_elements;
    uint32_t link; /* that is looked at */
    struct ch_halo_pe *pe;
};

static bool found(struct own_check *check, enum ch_halo_problem problem, uint64_t value)
{
    check->pe->problem = problem;
    check->pe->link = check->link;
    check->pe->value = value;
    return false;
}

static bool receive(void *arg, size_t element)
{
    struct own_check *check = arg;

    if (check->receiver[element] != 0) return found(check, CH_HALO_RECV_TWICE, element);
    check->receiver[element] = check->link + 1;
    return true;
}

static bool is_after(const chorusx_halo_link_t *link, uint32_t other)
{
    for (int i = 0; i < link->n_after; i++)
        if (link->after[i] == (int)other) return true;
    return false;
}

static bool send(void *arg, size_t element)
{
    struct own_check *check = arg;
    const uint32_t from = check->receiver[element];

    if (from == 0 || is_after(&check->links[check->link], from - 1)) return true;
    return found(check, CH_HALO_UNNAMED_AFTER, element);
}

/* The greatest index of a part that has elements. A sum that no size_t holds is as great. */
static size_t greatest_index(const chorusx_halo_part_t *part)
{
    size_t greatest = part->indices != NULL ? 0 : part->first, step;

    for (size_t i = 0; part->indices != NULL && i < part->count; i++)
        if (part->indices[i] > greatest) greatest = part->indices[i];
    for (int d = 0; d < 3 && part->indices == NULL; d++) {
        if (part->extent[d] < 2) continue;
        if (__builtin_mul_overflow(part->extent[d] - 1, part->stride[d], &step) ||
            __builtin_add_overflow(greatest, step, &greatest))
            return SIZE_MAX;
    }
    return greatest;
}

static bool part_is_inside(struct own_check *check, const chorusx_halo_part_t *part,
                           uint64_t *count_out)
{
    size_t count, greatest;

    if (!ch_halo_part_count(part, &count)) count = SIZE_MAX;
    /* No array has as many, so no recv either. A box without strides would, for hours. */
    if (count > UINT32_MAX) return found(check, CH_HALO_TOO_MANY, count);
    *count_out = count;
    if (count == 0) return true;
    greatest = greatest_index(part);
    return greatest < check->n_elements || found(check, CH_HALO_BAD_INDEX, greatest);
}

static bool link_is_fine(struct own_check *check, int n_pes)
{
    const chorusx_halo_link_t *link = &check->links[check->link];
    uint64_t n_send, n_recv;

    if (link->peer < 0 || link->peer >= n_pes)
        return found(check, CH_HALO_BAD_PEER, (uint64_t)(int64_t)link->peer);
    for (uint32_t i = 0; i < check->link; i++)
        if (check->links[i].peer == link->peer && check->links[i].tag == link->tag)
            return found(check, CH_HALO_TWICE, i);
    if (link->n_after < 0 || (link->n_after > 0 && link->after == NULL))
        return found(check, CH_HALO_BAD_AFTER, (uint64_t)(int64_t)link->n_after);
    for (int i = 0; i < link->n_after; i++)
        if (link->after[i] < 0 || (uint32_t)link->after[i] >= check->link)
            return found(check, CH_HALO_BAD_AFTER, (uint64_t)(int64_t)link->after[i]);
    return part_is_inside(check, &link->send, &n_send) &&
           part_is_inside(check, &link->recv, &n_recv) &&
           ch_halo_part_visit(&link->recv, receive, check);
}

static void check_links(struct own_check *check, int n_pes)
{
    const uint32_t n = (uint32_t)check->pe->n_links;

    for (check->link = 0; check->link < n; check->link++)
        if (!link_is_fine(check, n_pes)) return;
    for (check->link = 0; check->link < n; check->link++)
        if (!ch_halo_part_visit(&check->links[check->link].send, send, check)) return;
}

struct ch_halo_pe ch_halo_check_own(int n_pes, size_t n_elements, size_t elem_bytes,
                                    int n_links, const chorusx_halo_link_t *links)
{
    struct ch_halo_pe pe = {.elem_bytes = elem_bytes, .n_elements = n_elements};
    struct own_check check = {.links = links, .n_elements = n_elements, .pe = &pe};

    if (n_links < 0 || (n_links > 0 && links == NULL)) {
        (void)found(&check, CH_HALO_BAD_COUNT, (uint64_t)(int64_t)n_links);
        return pe;
    }
    pe.n_links = (uint64_t)n_links;
    if (elem_bytes == 0 || n_elements > UINT32_MAX ||
        elem_bytes > SIZE_MAX / 4 / (n_elements + 1))
        (void)found(&check, CH_HALO_BAD_ELEMENTS, n_elements);
    else if ((check.receiver = calloc(n_elements + 1, sizeof(*check.receiver))) == NULL)
        (void)found(&check, CH_HALO_NO_MEMORY, n_elements);
    else
        check_links(&check, n_pes);
    free(check.receiver);
    return pe;
}

/* --- those of all PEs --------------------------------------------------------------------- */
uint64_t ch_halo_find_record(const struct ch_halo_record *records, uint64_t n_links, int to,
                             int tag)
{
    for (uint64_t i = 0; i < n_links; i++)
        if (records[i].peer == to && records[i].tag == tag) return i;
    return n_links;
}

static int say_own_problem(uint32_t number, const struct ch_halo_pe *pe, char *message,
                           size_t bytes)
{
    const unsigned long long value = pe->value, n = pe->n_elements;
    const long long as_signed = (long long)pe->value;
    const unsigned link = pe->link;

    switch ((enum ch_halo_problem)pe->problem) {
    case CH_HALO_FINE:
        return CHORUS_OK;
    case CH_HALO_BAD_COUNT:
        (void)snprintf(message, bytes,
                       "PE %u passes %lld links; expected 0 or more, and their list", number,
                       as_signed);
        break;
    case CH_HALO_BAD_ELEMENTS:
        (void)snprintf(
            message, bytes,
            "PE %u passes arrays of %llu elements of %llu bytes; expected elements of 1 "
            "byte or more, and at most 2^32 - 1 of them",
            number, n, (unsigned long long)pe->elem_bytes);
        break;
    case CH_HALO_BAD_PEER:
        (void)snprintf(message, bytes,
                       "link %u of PE %u is to PE %lld, which the team does not have", link,
                       number, as_signed);
        break;
    case CH_HALO_TWICE:
        (void)snprintf(
            message, bytes,
            "links %llu and %u of PE %u are to the same peer with the same tag; give each "
            "a tag of its own, as at the peer",
            value, link, number);
        break;
    case CH_HALO_TOO_MANY:
        (void)snprintf(
            message, bytes,
            "a part of link %u of PE %u has %llu elements; expected at most 2^32 - 1", link,
            number, value);
        break;
    case CH_HALO_BAD_INDEX:
        (void)snprintf(message, bytes,
                       "link %u of PE %u has element %llu, of an array of %llu elements", link,
                       number, value, n);
        break;
    case CH_HALO_RECV_TWICE:
        (void)snprintf(message, bytes,
                       "element %llu of PE %u is received twice, the second time by link %u",
                       value, number, link);
        break;
    case CH_HALO_BAD_AFTER:
        (void)snprintf(message, bytes,
                       "link %u of PE %u is after %lld, which is no earlier link of the PE",
                       link, number, as_signed);
        break;
    case CH_HALO_UNNAMED_AFTER:
        (void)snprintf(
            message, bytes,
            "link %u of PE %u sends element %llu, which another link receives; name that "
            "link, which must be an earlier one, in after",
            link, number, value);
        break;
    case CH_HALO_NO_MEMORY:
        (void)snprintf(message, bytes, "PE %u has no memory to check links of %llu elements",
                       number, value);
        return CHORUS_ERR_NOMEM;
    }
    return CHORUS_ERR_ARG;
}

/* Link i of PE p against the peer's. */
static int check_link(const struct ch_halo_pe *pes, const uint64_t *first,
                      const struct ch_halo_record *records, uint32_t p, uint64_t i,
                      char *message, size_t bytes)
{
    const struct ch_halo_record *mine = &records[first[p] + i], *theirs;
    const uint32_t q = (uint32_t)mine->peer;
    const uint64_t k =
        ch_halo_find_record(&records[first[q]], pes[q].n_links, (int)p, mine->tag);

    if (k == pes[q].n_links) {
        (void)snprintf(
            message, bytes,
            "link %llu of PE %u is to PE %u with tag %d; PE %u has no link to PE %u with "
            "this tag",
            (unsigned long long)i, p, q, mine->tag, q, p);
        return CHORUS_ERR_ARG;
    }
    theirs = &records[first[q] + k];
    if (mine->n_send == theirs->n_recv) return CHORUS_OK;
    (void)snprintf(message, bytes,
                   "link %llu of PE %u sends %llu elements to PE %u (tag %d), whose link %llu "
                   "receives %llu",
                   (unsigned long long)i, p, (unsigned long long)mine->n_send, q, mine->tag,
                   (unsigned long long)k, (unsigned long long)theirs->n_recv);
    return CHORUS_ERR_ARG;
}

int ch_halo_check_pes(uint32_t n_pes, const struct ch_halo_pe *pes, char *message, size_t bytes)
{
    int code = CHORUS_OK;

    for (uint32_t p = 0; p < n_pes && code == CHORUS_OK; p++) {
        code = say_own_problem(p, &pes[p], message, bytes);
        if (code == CHORUS_OK && pes[p].elem_bytes != pes[0].elem_bytes) {
            (void)snprintf(message, bytes, "elements have %llu bytes on PE 0 and %llu on PE %u",
                           (unsigned long long)pes[0].elem_bytes,
                           (unsigned long long)pes[p].elem_bytes, p);
            code = CHORUS_ERR_ARG;
        }
    }
    return code;
}

int ch_halo_check_links(uint32_t n_pes, const struct ch_halo_pe *pes, const uint64_t *first,
                        const struct ch_halo_record *records, char *message, size_t bytes)
{
    int code = CHORUS_OK;

    for (uint32_t p = 0; p < n_pes && code == CHORUS_OK; p++)
        for (uint64_t i = 0; i < pes[p].n_links && code == CHORUS_OK; i++)
            code = check_link(pes, first, records, p, i, message, bytes);
    return code;
}
