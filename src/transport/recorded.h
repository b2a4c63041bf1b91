/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recorded.h: CHORUS_RECORD=full: a transport between the program and another one, which writes
 * each access to memory of a PE into the record of this PE. Accesses by kernels, and by loads
 * and stores of the program itself, do not pass it.
 */
#ifndef CH_RECORDED_H
#define CH_RECORDED_H

#include "base/record.h"
#include "transport/transport.h"

/* Replace an open transport and its operations by those that record. Closing the new one closes
 * the old one; on failure both are as before. `heap` and `record` are kept. */
CH_MUST_CHECK chorus_status ch_recorded_open(const struct ch_heap *heap,
                                             struct ch_record *record,
                                             const struct ch_transport_ops **ops,
                                             struct ch_transport **self);

#endif /* CH_RECORDED_H */
