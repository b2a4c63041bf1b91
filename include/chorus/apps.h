/* SPDX-License-Identifier: Apache-2.0 */
/* apps.h: all headers of libchorus-apps, what applications build on over the calls of chorus.h.
 */
#ifndef CHORUS_APPS_H
#define CHORUS_APPS_H

#include "chorus/apps/coordinator.h"
#include "chorus/apps/halo.h"
#include "chorus/apps/moe.h"

#endif /* CHORUS_APPS_H */
