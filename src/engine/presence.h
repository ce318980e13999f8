/* SPDX-License-Identifier: MIT */
/* Finds out, once and before the engine starts, whether there can be a GPU: reports give this as
 * the reason why products stay on the CPU. */
#ifndef XG_PRESENCE_H
#define XG_PRESENCE_H

#include "base/conf.h"
#include "base/xg.h"

/*
 * Returns the reason why there is no GPU here (device/absence.h), or XG_REASON_EARNING if there may
 * be one. Looks at most once per process, without calling the driver. If there is no device file, a
 * separate thread asks the dynamic linker for the driver; the call waits for it for at most 1 s.
 * Looks only if calls are reported with their reasons (xg_conf_tells), and either XGEMM_MODE is
 * auto, in which products wait for a start, or the engine has found no GPU; otherwise returns
 * XG_REASON_EARNING. From any thread.
 */
enum xg_reason xg_presence_look(const struct xg_conf *conf);

#endif
