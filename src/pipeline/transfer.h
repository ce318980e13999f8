/* SPDX-License-Identifier: MIT */
/* Moves whole column-major matrices between the caller's memory and the device. */
#ifndef XG_TRANSFER_H
#define XG_TRANSFER_H

#include "base/routine.h"
#include "pipeline/lane.h"

struct xg_transfer {
    struct xg_matrix host;
    CUdeviceptr device; /* column-major too */
    int64_t device_ld;
    enum xg_type type;
    size_t elem_bytes; /* of an element; integers have 8 and count as XG_TYPE_D, as tiny doubles */
    enum xg_uplo part; /* of the host's matrix; the other triangle is neither read nor written */
    bool conjugate;    /* the device has the host's conjugate transpose; part is XG_FULL */
    _Atomic uint64_t *largest; /* NULL, or gets the largest magnitude (magnitude.h) */
};

/*
 * Copies the matrices to the device and waits for the copies. The triangle that is not stored is
 * undefined there. *finite: no element is NaN or infinite; else the device's matrices are
 * undefined. count: at most XG_SLOT_COUNT.
 *
 * The lane's team copies, through lane->blocks and lane->streams[0]; the device's context must be
 * current on this thread. Returns XG_OK, XG_ERR_DRIVER, XG_ERR_LOST, XG_ERR_CAPTURE; XG_ERR_HUNG if
 * the device makes no progress for dev->timeout_s: the blocks may still be in use.
 */
enum xg_status xg_transfer_up(struct xg_lane *lane, const struct xg_transfer *transfers, int count,
                              bool *finite);

/* Copies the matrices to the host, after the earlier work of lane->streams[0], and waits for the
 * copies. Otherwise the same. After a failure, and if an element that the host stores is not
 * finite, the host's matrices are undefined. */
enum xg_status xg_transfer_down(struct xg_lane *lane, const struct xg_transfer *transfers,
                                int count, bool *finite);

#endif
