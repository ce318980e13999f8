# SPDX-License-Identifier: MIT
"""Builds the testers of Level 3 BLAS from Debian's source of LAPACK, for larger matrices."""
import glob
import os
import re
import shutil
import subprocess

# More than two tiles of the largest kernel, and not a multiple of what kernels load at once.
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
0.0 0.7
3
0.0 1.0 1.3
%s
"""


class Missing(Exception):
    """Why there is nothing to build."""


def download(folder):
    """The source package, by a list of sources of its own; the system's stays as it is."""
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
    """The folder of LAPACK's source: the one named, or one downloaded where that is asked for."""
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


def build(top, library, folder):
    """Leaves xblat3s and xscblat3 in the folder, and what they read."""
    if not shutil.which("gfortran"):
        raise Missing("no gfortran")
    cc, testing = os.environ.get("CC", "cc"), os.path.join(top, "CBLAS/testing")
    at = lambda name: os.path.join(folder, name)
    enlarge(os.path.join(top, "BLAS/TESTING/sblat3.f"), at("sblat3.f"))
    enlarge(os.path.join(testing, "c_sblat3.f"), at("c_sblat3.f"))
    with open(at("missing.c"), "w") as file:
        file.write("int RowMajorStrg, CBLAS_CallFromC;\n")  # nothing of the tester defines them
    parts = [os.path.join(testing, name) for name in ("c_sblas3.c", "c_s3chke.c", "auxiliary.c",
                                                      "c_xerbla.c")] + [at("missing.c")]
    objects = [at(os.path.basename(part)[:-2] + ".o") for part in parts]
    include = "-I" + os.path.join(top, "CBLAS/include")
    compile_all([[*cc.split(), "-O1", "-w", "-fPIC", "-DADD_", include, "-c", part, "-o", result]
                 for part, result in zip(parts, objects)])
    compile_all([["gfortran", "-O2", "-w", at("c_sblat3.f"), *objects, library, "-o",
                  at("xscblat3")],
                 ["gfortran", "-O2", "-w", at("sblat3.f"), library, "-o", at("xblat3s")]])
    sides = " ".join(map(str, SIDES))
    for name, both, prefix, width in (("xblat3s", "", "S", 6), ("xscblat3", "2\n", "cblas_s", 12)):
        routines = "\n".join((prefix + routine).ljust(width) + (" T" if routine.lower() == "gemm"
                                                                else " F")
                             for routine in ("gemm", "symm", "trmm", "trsm", "syrk", "syr2k"))
        if not both:
            routines = routines.upper()
        with open(at(name + ".in"), "w") as file:
            text = INPUT % (both, len(SIDES), sides, routines)
            # The Fortran tester has a summary file first.
            file.write(text if both else "'summary'\n6\n" + text)
