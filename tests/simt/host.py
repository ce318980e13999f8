# SPDX-License-Identifier: MIT
"""Makes C++ for simt.h of CUDA sources: host.py KERNELS FOLDER copies the .cu and .cuh files of a folder."""

import pathlib
import sys

# The start of each PTX statement, and the macro of simt.h that takes its place.
STATEMENTS = {
    '"ldmatrix.sync': "SIMT_ldmatrix",
    '"mma.sync.aligned.m16n8k16': "SIMT_mma_halves",
    '"mma.sync.aligned.m16n8k32': "SIMT_mma_bytes",
    '"dp4a.u32.s32': "SIMT_dp4a",
    '"mma.sync.aligned.m16n8k8.row.col.f64': "SIMT_mma_doubles",
    '"ld.shared.f64': "SIMT_load_double",
    '"xor.b32': "SIMT_xor",
    '"add.s64': "SIMT_add",
    '"mov.b64': "SIMT_hide",
    '"mov.b32': "SIMT_hide",
}
DYNAMIC_SHARED = {
    "extern __shared__ uint8_t shared[];": "",
    "extern __shared__ __align__(1024) double xg_dmma_stages[];": "double *xg_dmma_stages = (double *)shared;",
}


def statement_end(text, at):
    """The index behind the parenthesis that closes the one at `at`, outside of strings."""
    depth, quoted = 0, False
    while True:
        if text[at] == '"':
            quoted = not quoted
        elif not quoted:
            depth += {"(": 1, ")": -1}.get(text[at], 0)
        at += 1
        if depth == 0:
            return at


def on_the_cpu(text):
    for start, macro in STATEMENTS.items():
        while (at := text.find(start)) >= 0:
            begin = text.rindex("asm", 0, at)
            text = text[:begin] + macro + text[statement_end(text, text.index("(", begin)) :]
    for declared, found in DYNAMIC_SHARED.items():
        text = text.replace(declared, found)
    text = text.replace("__shared__", "static")
    return text.replace('extern "C" ', "static ")


def main():
    source, target = map(pathlib.Path, sys.argv[1:])
    for folder in ("common", "emulated", "fp64"):
        (target / folder).mkdir(parents=True, exist_ok=True)
        for file in [*(source / folder).glob("*.cuh"), *(source / folder).glob("*.cu")]:
            (target / folder / file.name).write_text(on_the_cpu(file.read_text()))
        for file in (source / folder).glob("*.h"):
            (target / folder / file.name).write_text(file.read_text())
    for file in source.glob("*.h"):
        (target / file.name).write_text(file.read_text())
    entries = (source / "fp64/dgemm_dmma_sm80.cu").read_text().splitlines(keepends=True)
    (target / "entries.h").write_text("".join(line for line in entries if line.startswith("ENTRIES(")))


main()
