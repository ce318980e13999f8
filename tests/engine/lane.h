/* SPDX-License-Identifier: MIT */
/* A device of the fake driver and a lane on it, for tests of the pipeline. */
#ifndef ENGINE_LANE_H
#define ENGINE_LANE_H

#include "src/compute/backend.h"
#include "src/pipeline/lane.h"
#include "tests/support/guarded.h"

/* Opens both with a configuration whose strings the caller owns. Ends the test if that fails. */
static inline struct xg_lane *fx_lane_open(const struct xg_conf *conf, int threads,
                                           struct xg_dev **dev)
{
    struct xg_lane *lane = NULL;
    XT_CHECK(xg_backend_open(conf, dev) == XG_OK && xg_lane_create(*dev, threads, &lane) == XG_OK);
    if (!lane)
        exit(xt_done());
    return lane;
}

static inline void fx_lane_close(struct xg_lane *lane, struct xg_dev *dev)
{
    xg_lane_destroy(lane);
    xg_backend_close(dev);
}

#endif
