/* SPDX-License-Identifier: Apache-2.0 */
/* chorusrun_agent.h: functions that chorusrun has only as an agent. */
#ifndef CHORUSRUN_AGENT_H
#define CHORUSRUN_AGENT_H

#include "chorusrun.h"
#include "chorusrun_frame.h"

/* Send the greeting and receive the order, which replaces what args contains; exits if none
 * arrives. */
struct agent *agent_open(struct args *args, struct share *share_out);
void agent_close(struct agent *agent); /* null is a no-op */

/* Prepare what PEs inherit; false: the job was ended. */
bool agent_begin(struct job *job, struct share *share);

void agent_watch(struct agent *agent, struct pollfd *fds, nfds_t *n);
void agent_serve(struct job *job, const struct pollfd *fds);
uint64_t agent_due(const struct agent *agent);
void agent_do_due(struct job *job);

/* reach: the addresses of the front in the order in which PEs must try them; the first one has
 * just answered; to be freed. Null: none answered, with the reason. */
char *reach_root(const char *addresses, char why_out[CH_WIRE_REASON_BYTES]);

#endif /* CHORUSRUN_AGENT_H */
