# SPDX-License-Identifier: MIT
"""Builds the testers of Level 3 BLAS from Debian's source of LAPACK, for larger matrices."""
import glob
import os
import re
import shutil
import subprocess

# The largest side exceeds two tiles of the largest kernel. None is a multiple of a kernel's loads.
SIDES = (1, 130, 289)
NMAX = 300

INPUT = """'snapshot'
-1
F
F
F
%s16.0
%d
%s
2
%s
3
%s
%s
"""

# Alphas and betas, and operations, of real and of complex types.
SCALARS = {False: ("0.0 0.7", "0.0 1.0 1.3"),
           True: ("(0.0,0.0) (0.7,-0.9)", "(0.0,0.0) (1.0,0.0) (1.3,-1.1)")}
ROUTINES = {False: ("gemm", "symm", "trmm", "trsm", "syrk", "syr2k"),
            True: ("gemm", "hemm", "symm", "trmm", "trsm", "herk", "syrk", "her2k", "syr2k")}


class Missing(Exception):
    """The reason why nothing can be built."""


def download(folder):
    """Downloads the source package with its own list of sources; the system's stays unchanged."""
    lists = os.path.join(folder, "lists")
    os.makedirs(os.path.join(lists, "partial"), exist_ok=True)
    release = subprocess.run(["sh", "-c", ". /etc/os-release; echo $VERSION_CODENAME"],
                             capture_output=True, text=True, check=True).stdout.strip()
    with open(os.path.join(folder, "sources.list"), "w") as file:
        file.write(f"deb-src http://deb.debian.org/debian {release} main\n")
    apt = ["apt-get", "-q", "-o", f"Dir::Etc::sourcelist={folder}/sources.list", "-o",
           "Dir::Etc::sourceparts=/dev/null", "-o", f"Dir::State::lists={lists}"]
    for command in (["update"], ["source", "--download-only", "lapack"]):
        done = subprocess.run(apt + command, cwd=folder, capture_output=True, text=True)
        if done.returncode:
            raise Missing("apt-get " + " ".join(command) + ": " + done.stderr.strip()[:100])
    archive = glob.glob(os.path.join(folder, "lapack_*.orig.tar.*"))
    if not archive:
        raise Missing("apt-get source brought no archive")
    subprocess.run(["tar", "-xf", archive[0], "-C", folder], check=True)
    os.unlink(archive[0])


def find(source, fetch, folder):
    """Returns the folder of LAPACK's source: the one that is named, or with --fetch a download."""
    if not source and fetch:
        if not shutil.which("apt-get"):
            raise Missing("no apt-get to fetch LAPACK's source with")
        download(folder)
        source = folder
    if not source:
        raise Missing("LAPACK's source is wanted: --source DIR, or --fetch")
    for top in (source, *glob.glob(os.path.join(source, "*", ""))):
        if os.path.exists(os.path.join(top, "CBLAS/testing/c_sblat3.f")):
            return top
    raise Missing(f"{source} holds no LAPACK")


def compile_all(commands):
    for command in commands:
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise Missing(" ".join(command[:2]) + ": " + done.stderr.strip()[-200:])


def enlarge(source, target):
    """Copies a tester with its limit on dimensions raised."""
    with open(source) as file:
        text, count = re.subn(r"NMAX = 65", f"NMAX = {NMAX}", file.read())
    if not count:
        raise Missing(f"{source} has no such limit on dimensions")
    with open(target, "w") as file:
        file.write(text)


def input_of(letter, fortran):
    """The input of a tester of the type."""
    is_complex = letter in "cz"
    names = [letter + routine for routine in ROUTINES[is_complex]]
    if fortran:
        names = [name.upper().ljust(6) for name in names]
    else:
        names = [("cblas_" + name).ljust(12) for name in names]
    text = INPUT % ("" if fortran else "2\n", len(SIDES), " ".join(map(str, SIDES)),
                    *SCALARS[is_complex], "\n".join(name + " T" for name in names))
    # The Fortran tester reads the name of a summary file first.
    return "'summary'\n6\n" + text if fortran else text


def build(top, library, folder, letters):
    """Builds xblat3s, xscblat3 and those of the other letters in the folder, with their input."""
    if not shutil.which("gfortran"):
        raise Missing("no gfortran")
    cc, testing = os.environ.get("CC", "cc"), os.path.join(top, "CBLAS/testing")
    at = lambda name: os.path.join(folder, name)
    with open(at("missing.c"), "w") as file:
        file.write("int RowMajorStrg, CBLAS_CallFromC;\n")  # the tester lacks them
    include = "-I" + os.path.join(top, "CBLAS/include")
    for letter in letters:
        enlarge(os.path.join(top, f"BLAS/TESTING/{letter}blat3.f"), at(f"{letter}blat3.f"))
        enlarge(os.path.join(testing, f"c_{letter}blat3.f"), at(f"c_{letter}blat3.f"))
        parts = [os.path.join(testing, name) for name in (
            f"c_{letter}blas3.c", f"c_{letter}3chke.c", "auxiliary.c", "c_xerbla.c")]
        parts.append(at("missing.c"))
        objects = [at(os.path.basename(part)[:-2] + ".o") for part in parts]
        compile_all([[*cc.split(), "-O1", "-w", "-fPIC", "-DADD_", include, "-c", part, "-o",
                      result] for part, result in zip(parts, objects)])
        compile_all([["gfortran", "-O2", "-w", at(f"c_{letter}blat3.f"), *objects, library, "-o",
                      at(f"x{letter}cblat3")],
                     ["gfortran", "-O2", "-w", at(f"{letter}blat3.f"), library, "-o",
                      at(f"xblat3{letter}")]])
        for name, fortran in ((f"xblat3{letter}", True), (f"x{letter}cblat3", False)):
            with open(at(name + ".in"), "w") as file:
                file.write(input_of(letter, fortran))
