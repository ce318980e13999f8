/* SPDX-License-Identifier: MIT */
/* Names for statuses, places and reasons. */
#include "base/xg.h"

const char *xg_status_name(enum xg_status status)
{
    static const char *const names[] = {
        [XG_DECLINED - XG_DECLINED] = "declined",
        [XG_DECLINED - XG_OK] = "ok",
        [XG_DECLINED - XG_ERR_NOMEM] = "out of memory",
        [XG_DECLINED - XG_ERR_DRIVER] = "driver error",
        [XG_DECLINED - XG_ERR_LOST] = "device lost",
        [XG_DECLINED - XG_ERR_NOTFOUND] = "not found",
        [XG_DECLINED - XG_ERR_SYSTEM] = "system error",
        [XG_DECLINED - XG_ERR_HUNG] = "device does not answer",
        [XG_DECLINED - XG_ERR_CAPTURE] = "stream capture under way",
        [XG_DECLINED - XG_ERR_WRONG] = "wrong result",
    };
    const unsigned index = (unsigned)(XG_DECLINED - status);

    return index < sizeof names / sizeof names[0] ? names[index] : "unknown status";
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
        [XG_REASON_SOLVER] = "no cuSOLVER here",
        [XG_REASON_OVERLAP] = "C overlaps A or B",
    };

    return (unsigned)reason < XG_REASON_COUNT ? texts[reason] : "unknown";
}

const char *xg_place_text(enum xg_place place)
{
    return place == XG_PLACE_CPU ? "CPU" : place == XG_PLACE_GPU ? "GPU" : "both";
}
