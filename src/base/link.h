/* SPDX-License-Identifier: Apache-2.0 */
/*
 * link.h: what algorithms need of a link to a peer whose memory this PE can neither load nor
 * store. transport/link.c implements it over any kind of link.
 *
 * One lane calls these functions. A location in the peer's memory is named by the peer's own
 * address. Posting returns no status: ch_link_flush and the waits of the job report failures.
 */
#ifndef CH_BASE_LINK_H
#define CH_BASE_LINK_H

#include "base/exec_types.h"
#include "chorus/status.h"

#include <stddef.h>
#include <stdint.h>

struct ch_link;

/* Send `bytes` at src, which arrive in the peer's memory, at `there`, at any later time. src
 * must not change before the peer has confirmed their arrival, or a flush. */
void ch_link_post(struct ch_link *link, void *there, const void *src, size_t bytes);

/* The peer's word becomes `value`, after all earlier posts of this PE on this link have
 * arrived: pairs with ch_word_load on the peer. `sense` is for the simulator. */
void ch_link_post_word(struct ch_link *link, uint64_t *there, uint64_t value,
                       enum ch_sense sense);

/* ch_link_post and ch_link_post_word as one message; bytes may be 0. Up to CH_INLINE_BYTES are
 * read before it returns. */
void ch_link_post_signal(struct ch_link *link, void *there, const void *src, size_t bytes,
                         uint64_t *word, uint64_t value, enum ch_sense sense);

/* Wait until all posts of this PE on this link have been sent; the sources may then change. */
chorus_status ch_link_flush(struct ch_link *link);

/*
 * Post a receive: if the peer puts exactly `bytes` into `slot`, in this PE's sync memory, and
 * they have not begun to arrive, they may be stored at dst instead. Returns 1 if it is posted;
 * until ch_link_end_receive, which must follow, the contents of dst are undefined. 0: no
 * receive is posted, for example because another thread waits for the peer.
 */
int ch_link_post_receive(struct ch_link *link, void *slot, void *dst, size_t bytes);

/* End the posted receive, after the peer has announced the bytes. Returns 1 if they are at dst,
 * 0 if they are in the slot. */
int ch_link_end_receive(struct ch_link *link);

/* The call has failed: sources of its posts are no longer read. */
void ch_link_abandon(struct ch_link *link);

#endif /* CH_BASE_LINK_H */
