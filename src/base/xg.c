/* SPDX-License-Identifier: MIT */
/* Names for statuses, places and reasons. */
#include "base/xg.h"

const char *xg_status_name(enum xg_status status)
{
    switch (status) {
    case XG_OK:
        return "ok";
    case XG_DECLINED:
        return "declined";
    case XG_ERR_NOMEM:
        return "out of memory";
    case XG_ERR_DRIVER:
        return "driver error";
    case XG_ERR_LOST:
        return "device lost";
    case XG_ERR_NOTFOUND:
        return "not found";
    case XG_ERR_SYSTEM:
        return "system error";
    case XG_ERR_WRONG:
        return "wrong result";
    case XG_ERR_HUNG:
        return "device does not answer";
    case XG_ERR_CAPTURE:
        return "stream capture under way";
    }
    return "unknown status";
}

const char *xg_reason_text(enum xg_reason reason)
{
    static const char *const texts[XG_REASON_COUNT] = {
        [XG_REASON_MODE] = "XGEMM_MODE",
        [XG_REASON_SMALL] = "too small",
        [XG_REASON_MODEL] = "cost model",
        [XG_REASON_PHASE] = "products around it",
        [XG_REASON_TRIAL] = "trial",
        [XG_REASON_EARNING] = "GPU start-up not earned yet",
        [XG_REASON_STARTING] = "GPU starting",
        [XG_REASON_BUSY] = "GPU busy",
        [XG_REASON_MEMORY] = "does not fit device memory",
        [XG_REASON_FORKED] = "forked child",
        [XG_REASON_NO_GPU] = "no usable GPU",
        [XG_REASON_FAILED] = "GPU failed",
        [XG_REASON_STACK] = "thread has little stack",
        [XG_REASON_WRONG] = "GPU's result was wrong",
        [XG_REASON_DEGENERATE] = "nothing to multiply",
        [XG_REASON_IN_PLACE] = "computed in place",
        [XG_REASON_OPERATION] = "XGEMM_OPERATIONS",
        [XG_REASON_KERNEL] = "no kernel for it",
        [XG_REASON_NO_DRIVER] = "no usable GPU: no driver",
        [XG_REASON_NO_DEVICE] = "no usable GPU: no device",
        [XG_REASON_DENIED] = "no usable GPU: not allowed",
        [XG_REASON_ROUTINE] = "cuSOLVER declines",
        [XG_REASON_OVERLAP] = "C overlaps A or B",
    };

    return (unsigned)reason < XG_REASON_COUNT ? texts[reason] : "unknown";
}

const char *xg_place_text(enum xg_place place)
{
    return place == XG_PLACE_CPU ? "CPU" : place == XG_PLACE_GPU ? "GPU" : "both";
}
