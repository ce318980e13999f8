# SPDX-License-Identifier: MIT
# The device test of DGEMM by residues over the fake driver: its bookkeeping, and the launches.
LD_LIBRARY_PATH=$XG_FAKEDRV_DIR/pieces:$LD_LIBRARY_PATH XGEMM_TEST_ALLOW_FAKE=1 exec "$builddir/tests/gpu/residue" --short
