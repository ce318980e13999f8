#!/bin/bash
# SPDX-License-Identifier: MIT
# Builds and installs in conda's environments, whose contents recipe.yaml lists.
set -euxo pipefail

./bootstrap
./configure --prefix="$PREFIX" --with-cuda="$BUILD_PREFIX" --with-blas=-lcblas \
    ${XGEMM_FATBINS:+--with-fatbins="$XGEMM_FATBINS"}
make -j"$CPU_COUNT"
if [[ "${CONDA_BUILD_CROSS_COMPILATION:-0}" != 1 ]]; then
    make -j"$CPU_COUNT" check-engine VERBOSE=1
fi
make install
rm "$PREFIX/lib/libxgemm_shim.la"
