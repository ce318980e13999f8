# SPDX-License-Identifier: MIT
# An environment that asks cuBLAS to emulate doubles changes no result. Contract 1.2 (doc/contract.md).
CUBLAS_EMULATE_DOUBLE_PRECISION=1 XT_SHORT=1 exec "$builddir/tests/engine/problem"
