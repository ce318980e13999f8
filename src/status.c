/* SPDX-License-Identifier: MIT */
/* The words for enum xg_status. */
#include "xg.h"

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
    case XG_ERR_HUNG:
        return "device does not answer";
    }
    return "unknown status";
}
