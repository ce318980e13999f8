/* SPDX-License-Identifier: MIT */
/* Finds out whether there can be a GPU before the engine starts, for the reasons of products. */
#ifndef XG_PRESENCE_H
#define XG_PRESENCE_H

#include "base/conf.h"
#include "base/xg.h"

/*
 * Returns the reason why there is no GPU here (device/absence.h), or XG_REASON_EARNING if there may
 * be one. Looks once per process, without calling the driver. If there is no device file, a
 * separate thread asks the dynamic linker for the driver; the call waits for it for at most 1 s.
 * Returns XG_REASON_EARNING without a look unless reasons are read (xg_conf_tells), and XGEMM_MODE
 * is auto, where products wait for a start, or the engine has found no GPU. From any thread.
 */
enum xg_reason xg_presence_look(const struct xg_conf *conf);

#endif
