#!/bin/sh
# SPDX-License-Identifier: MIT
# Products from pieces by mma.sync: the scenarios of pieces on a device that is no Hopper, by a driver
# without tensor maps.
FAKECUDA_SM=86 exec "$builddir/tests/engine/pieces" fp16x3_mma
