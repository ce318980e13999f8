/* SPDX-License-Identifier: MIT */
/* Whether there can be a GPU before the engine is started: for the reasons of products. */
#ifndef XG_PRESENCE_H
#define XG_PRESENCE_H

#include "base/conf.h"
#include "base/xg.h"

/*
 * The reason why there is no GPU here (device/absence.h), or XG_REASON_EARNING where there may be
 * one. Looks once in the process, without a call of the driver; where there is no device file the
 * dynamic linker is asked for the driver on a thread of its own, which is waited for for a second
 * at most. Only where the reason of a product is read (xg_conf_tells), and XGEMM_MODE=auto has
 * products wait for a start: XG_REASON_EARNING without a look otherwise. From any thread.
 */
enum xg_reason xg_presence_look(const struct xg_conf *conf);

#endif
