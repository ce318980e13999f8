# SPDX-License-Identifier: MIT
"""The programs of the suite: how each is started here, or why it cannot run."""
import glob
import os
import shlex
import shutil
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
GROUPS = ("numpy", "scipy", "linalg", "brief", "sklearn", "c", "faiss", "torch", "octave")

# Name, group, and command: a Python file and its argument, or a C program's name.
PROGRAMS = (
    ("network512", "numpy", "arrays.py network512"),
    ("network4096", "numpy", "arrays.py network4096"),
    ("search", "numpy", "arrays.py search"),
    ("power", "numpy", "arrays.py power"),
    ("als", "numpy", "arrays.py als"),
    ("regression", "numpy", "arrays.py regression"),
    ("transformer", "numpy", "arrays.py transformer"),
    ("whitening", "numpy", "arrays.py whitening"),
    ("small", "numpy", "arrays.py small"),
    ("short", "numpy", "arrays.py short"),
    ("solve", "scipy", "linear.py solve"),
    ("expm", "scipy", "linear.py expm"),
    ("polar", "scipy", "linear.py polar"),
    ("scf", "linalg", "lapack.py scf"),
    ("covariance", "linalg", "lapack.py covariance"),
    ("cholesky", "linalg", "lapack.py cholesky"),
    ("gaussian_process", "linalg", "lapack.py gaussian_process"),
    ("recommender", "linalg", "lapack.py recommender"),
    ("spectral", "linalg", "lapack.py spectral"),
    ("one_eigh", "brief", "lapack.py one_eigh"),
    ("one_svd", "brief", "lapack.py one_svd"),
    ("one_pinv", "brief", "lapack.py one_pinv"),
    ("one_pca", "brief", "lapack.py one_pca"),
    ("few_svd", "brief", "lapack.py few_svd"),
    ("few_eigh", "brief", "lapack.py few_eigh"),
    ("pca", "sklearn", "learn.py pca"),
    ("truncated", "sklearn", "learn.py truncated"),
    ("kmeans", "sklearn", "learn.py kmeans"),
    ("mixture", "sklearn", "learn.py mixture"),
    ("mlp", "sklearn", "learn.py mlp"),
    ("nmf", "sklearn", "learn.py nmf"),
    ("neighbours", "sklearn", "learn.py neighbours"),
    ("logistic", "sklearn", "learn.py logistic"),
    ("pairwise", "sklearn", "learn.py pairwise"),
    ("threads", "c", "threads"),
    ("factor", "c", "factor"),
    ("vectors", "faiss", "vectors.py"),
    ("torch_train", "torch", "torch_cpu.py train"),
    ("torch_block", "torch", "torch_cpu.py block"),
    ("torch_single", "torch", "torch_cpu.py single"),
    ("torch_double", "torch", "torch_cpu.py double"),
    ("octave", "octave", "subspace.m"),
)

# Requirements, as Python programs that fail if they are missing.
NEEDS = {
    "numpy": "import numpy",
    "scipy": "import scipy.linalg",
    "linalg": "import scipy.linalg",
    "brief": "import scipy.linalg",
    "sklearn": "import sklearn",
    "faiss": "import faiss",
    "torch": "import torch",
}

VERSIONS = """
import importlib, platform
said = ["Python " + platform.python_version()]
for name in ("numpy", "scipy", "sklearn", "faiss", "torch"):
    try:
        said.append(name + " " + importlib.import_module(name).__version__)
        importlib.import_module({"scipy": "scipy.linalg", "sklearn": "sklearn.cluster"}[name])
    except (ImportError, KeyError):
        pass
try:
    from threadpoolctl import threadpool_info
    for pool in threadpool_info():
        if pool["user_api"] == "blas":
            said.append("BLAS {internal_api} {version} {architecture}, {num_threads} threads"
                        .format(**pool))
except ImportError:
    pass
print("; ".join(dict.fromkeys(said)))
"""


class Skipped(Exception):
    """A program that cannot run on this machine; the text says why."""


class Suite:
    """Starts programs. python: the interpreter of Python programs; folder: where C is built."""

    def __init__(self, python, folder):
        self.python = python
        self.folder = folder
        self.pythons = {}

    def versions(self):
        """Returns the versions of the Python packages in one line; importing them is also a warm-up."""
        done = subprocess.run([self.python, "-c", VERSIONS], capture_output=True, text=True)
        return done.stdout.strip() or "unknown: " + done.stderr.strip()[-200:]

    def chosen(self, names):
        """Returns the programs of a comma-separated list of names and groups; all for None."""
        wanted = names.split(",") if names else list(GROUPS)
        known = {name for name, *_ in PROGRAMS} | set(GROUPS)
        for name in wanted:
            if name not in known:
                raise SystemExit(f"no program and no group {name}")
        return [row for row in PROGRAMS if row[0] in wanted or row[1] in wanted]

    def command(self, row):
        """Returns the command line of a program, without the common options."""
        _, group, what = row
        if group == "c":
            return self.compiled(what)
        if group == "octave":
            octave = shutil.which("octave-cli") or shutil.which("octave")
            if not octave:
                raise Skipped("no Octave here")
            return [octave, "--no-gui", "-qf", os.path.join(HERE, what)]
        if group not in self.pythons:
            self.pythons[group] = self.find_python(group)
        python, why = self.pythons[group]
        if not python:
            raise Skipped(why)
        file, *arguments = what.split()
        return [python, os.path.join(HERE, file), *arguments]

    def find_python(self, group):
        """Returns the interpreter that has a group's packages: the given one, or the distribution's."""
        why = "no Python"
        for python in dict.fromkeys((self.python, "/usr/bin/python3")):
            if os.path.exists(python):
                done = subprocess.run([python, "-c", "import numpy; " + NEEDS[group]],
                                      capture_output=True, text=True)
                if done.returncode == 0:
                    return python, ""
                why = (done.stderr.strip().splitlines() or ["it does not import"])[-1]
        return None, why

    def compiled(self, name):
        """Returns a C program, and builds it if it is missing; its driver sets the BLAS's threads."""
        program = os.path.join(self.folder, name)
        if not os.path.exists(program):
            self.build(name, program)
        if name == "threads":
            return ["env", "OPENBLAS_NUM_THREADS=1", program]
        return [program]

    def build(self, name, program):
        blas = shlex.split(os.environ.get("XG_BLAS_LIBS") or "-lopenblas")
        flags = ["-O2", *shlex.split(os.environ.get("XG_BLAS_CFLAGS") or "")]
        if name == "threads":
            flags.append("-fopenmp")
        else:
            # Reference LAPACK itself, not the library that alternatives select, because OpenBLAS's
            # LAPACK calls its products internally. It comes before the BLAS, so its names are found first.
            found = sorted(glob.glob("/usr/lib/*/lapack/liblapack.so.3"))
            if not found:
                raise Skipped("no reference LAPACK here")
            blas = [found[0], *blas, "-Wl,-rpath," + os.path.dirname(found[0])]
        compiler = shlex.split(os.environ.get("CC") or "cc")
        source = os.path.join(HERE, name + ".c")
        os.makedirs(self.folder, exist_ok=True)
        try:
            done = subprocess.run([*compiler, *flags, "-o", program, source, *blas, "-lm"],
                                  capture_output=True, text=True)
        except OSError as error:
            raise Skipped(f"no compiler: {error}") from error
        if done.returncode:
            raise Skipped("it does not compile: " + done.stderr.strip()[-300:])
