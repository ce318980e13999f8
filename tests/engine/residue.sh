# SPDX-License-Identifier: MIT
# The device test of DGEMM by residues over the fake driver: its bookkeeping, and the launches.
XGEMM_TEST_ALLOW_FAKE=1 exec "$builddir/tests/gpu/residue" --short
