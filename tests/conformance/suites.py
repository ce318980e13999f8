# SPDX-License-Identifier: MIT
"""Test programs of other projects, a row each: what runs, and which output is compared."""
import dataclasses
import glob
import os

LIBS = "/usr/lib/x86_64-linux-gnu"

# Differs from run to run in every suite: times and residuals are numbers with a point.
NUMBERS = ((r"[-+]?\d+\.\d*(?:[EeDd][-+]?\d+)?", "#"), (r"[ \t]+", " "), (r"\s+$", ""))

# gfortran's programs print as they end which exceptions the processor's arithmetic has raised; a
# product on a GPU raises none.
DROPPED = r"^Note: The following floating-point exceptions are signalling"


@dataclasses.dataclass(frozen=True)
class Suite:
    """
    name, group  its name and group in the table
    needs        patterns of files; {0}, {1}, ... are the first match of each
    command      the program, with {0} and the other fields of the runner ({python}, {built})
    passed       a pattern: with fewer than `least` such lines the suite proves nothing
    stdin        a pattern of the file that it reads
    launcher     what starts the program, without the library
    files        patterns of the files that its working folder needs
    library      the BLAS that comes before the system's own; several are separated by :
    undefined    the program refers to variables that nothing defines: stand-ins are preloaded
    edit         (pattern, replacement) for lines of stdin, which shorten the run
    keeps        only lines that match this are compared; None: all
    cpu_reasons  why a call may run on the CPU although it is forced; cuSOLVER
                 declines calls whose info is not 0, and NaN
    short        part of `make check`
    limit_s      the limit of a run on the fake driver; a plain run has a tenth of it
    """
    name: str
    group: str
    needs: tuple
    command: tuple
    passed: str
    least: int = 1
    stdin: str = ""
    launcher: tuple = ()
    files: tuple = ()
    library: str = ""
    undefined: bool = False
    edit: tuple = ()
    keeps: str = ""
    environment: tuple = ()
    cpu_reasons: tuple = ("nothing to multiply", "cuSOLVER declines")
    short: bool = False
    limit_s: int = 600


# Beside all types of OpenBLAS: other makers, and 64-bit integers.
CHECKED_TOO = ("s BLIS, ILP64", "z reference, ILP64")


def blas_rows():
    """The reference BLAS project's testers of Level 3 and of Level 2, for GEMV, as Debian ships them (libblas-test)."""
    for name, folder, library in (
            ("OpenBLAS", "blas", "openblas-pthread"), ("reference", "blas", "blas"),
            ("BLIS", "blas", "blis-pthread"), ("OpenBLAS, ILP64", "blas64", "openblas64-pthread"),
            ("reference, ILP64", "blas64", "blas64"), ("BLIS, ILP64", "blas64", "blis64-pthread")):
        soname = "libblas64.so.3" if folder == "blas64" else "libblas.so.3"
        library = f"{LIBS}/{library}/{soname}"
        for letter, routines in (("s", 6), ("d", 6), ("c", 9), ("z", 9)):
            for tester, data, least in ((f"xblat3{letter}", f"{letter}blat3.in", 2 * routines),
                                        (f"x{letter}cblat3", f"{letter}in3", 3 * routines),
                                        (f"xblat2{letter}", f"{letter}blat2.in", 32),
                                        (f"x{letter}cblat2", f"{letter}in2", 48)):
                yield Suite(f"{tester}, {name}", "blas", (f"{LIBS}/{folder}/{tester}", library),
                            ("{0}",), r"PASSED THE", least, f"{LIBS}/{folder}/{data}",
                            library=library, undefined="cblat" in tester,
                            short=name == "OpenBLAS" or f"{letter} {name}" in CHECKED_TOO)


BUILT_LETTERS = "sdcz"


def built_rows():
    """The same, rebuilt from Debian's source for dimensions beyond one tile of every kernel."""
    for name, library, letters in (("OpenBLAS", "openblas-pthread", BUILT_LETTERS),
                                   ("reference", "blas", "s"), ("BLIS", "blis-pthread", "s")):
        library = f"{LIBS}/{library}/libblas.so.3"
        for letter in letters:
            routines = 9 if letter in "cz" else 6
            for tester, least in ((f"xblat3{letter}", routines),
                                  (f"x{letter}cblat3", 2 * routines)):
                yield Suite(f"{tester} to 289, {name}", "built", ("{built}/" + tester, library),
                            ("{0}",), r"PASSED THE", least, "{built}/" + tester + ".in",
                            library=library, limit_s=3000)


def lapack_rows():
    """LAPACK's testers of linear equations and eigenvalues (liblapack-test)."""
    folder = f"{LIBS}/lapack"
    passed = r"[Pp]assed|All tests"
    # As shipped they make a million and a half products, with fewer sizes a quarter of a million.
    # The largest size still exceeds LAPACK's blocks.
    fewer = ((r"^0 1 2 3 5 10 50 ", "0 1 5 30 "), (r"^7 ( *Number of values of [MN])$", r"4 \1"))
    rows = [("linear equations, fewer sizes", "xlintsts", "stest.in", 80, fewer, False),
            ("linear equations", "xlintsts", "stest.in", 80, (), False),
            ("linear equations, RFP", "xlintstrfs", "stest_rfp.in", 2, (), True),
            ("linear equations, mixed", "xlintstds", "dstest.in", 1, (), True)]
    for data, least in (("nep", 4), ("sep", 4), ("se2", 4), ("svd", 4), ("sec", 1), ("sed", 4),
                        ("sgg", 2), ("sgd", 4), ("ssb", 1), ("ssg", 1), ("gqr", 1), ("gsv", 1),
                        ("csd", 1), ("lse", 1)):  # the other tests multiply no matrices
        rows.append((f"eigenvalues, {data}", "xeigtsts", f"{data}.in", least, (),
                     data in ("ssb", "sgg", "gqr", "csd", "lse")))
    # Other types, for the parts of LAPACK that the library computes.
    for letter in "dcz":
        rows.append((f"linear equations, fewer sizes, {letter}", f"xlintst{letter}", f"{letter}test.in", 80, fewer,
                     False))
        rows += [(f"eigenvalues, {data}, {letter}", f"xeigtst{letter}", f"{data}.in", 4, (), False)
                 for data in ("nep", "sep", "se2", "svd")]
    for name, tester, data, least, edit, short in rows:
        # The reference LAPACK, because it calls BLAS by name; OpenBLAS's own runs once. With some
        # of OpenBLAS's kernels SGGES3 fails in one of sgd's problems even plain.
        library = f"{folder}/liblapack.so.3"
        library += f":{LIBS}/blas/libblas.so.3" if data == "sgd.in" else ""
        yield Suite(name, "lapack", (f"{folder}/{tester}", f"{folder}/liblapack.so.3"), ("{0}",),
                    passed, least, f"{folder}/{data}", edit=edit, short=short,
                    library=library, limit_s=1800)
    yield Suite("linear equations, fewer sizes, OpenBLAS's LAPACK", "lapack",
                (f"{folder}/xlintsts", f"{LIBS}/openblas-pthread/liblapack.so.3"), ("{0}",), passed,
                80, f"{folder}/stest.in", edit=fewer, limit_s=1800,
                library=f"{LIBS}/openblas-pthread/liblapack.so.3")


def pytest_row(name, group, python, files, *options, environment=(), limit_s=3600):
    return Suite(name, group, files, (python, "-m", "pytest", "-v", "--tb=no", "--no-header", "-p",
                                      "no:cacheprovider", "-p", "no:warnings", "-o",
                                      "console_output_style=classic",
                                      *("{%d}" % i for i in range(len(files))), *options),
                 r" PASSED", 20, keeps=r"::.* (PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS)",
                 environment=environment, limit_s=limit_s,
                 cpu_reasons=("nothing to multiply", "cuSOLVER declines", "forked child"))


def python_rows():
    """NumPy's, SciPy's and scikit-learn's own tests of functions that use products."""
    debian = "/usr/lib/python3/dist-packages"
    yield pytest_row("numpy.linalg, Debian", "numpy", "/usr/bin/python3",
                     (f"{debian}/numpy/linalg/tests",))
    yield pytest_row("numpy products, Debian", "numpy", "/usr/bin/python3",
                     (f"{debian}/numpy/core/tests/test_multiarray.py",
                      f"{debian}/numpy/core/tests/test_einsum.py"), "-k",
                     "(Dot or MatMul or matmul or einsum or Inner) and not large and not huge")
    yield pytest_row("numpy.linalg, PyPI", "numpy", "{python}", ("{packages}/numpy/linalg/tests",))
    yield pytest_row("numpy products, PyPI", "numpy", "{python}",
                     ("{packages}/numpy/_core/tests/test_multiarray.py",
                      "{packages}/numpy/_core/tests/test_einsum.py"), "-k",
                     "(Dot or MatMul or matmul or einsum or Inner) and not large and not huge")
    # int_overflow needs a matrix of more than 2^31 elements.
    yield pytest_row("scipy.linalg, PyPI", "scipy", "{python}",
                     tuple("{packages}/scipy/linalg/tests/test_%s.py" % part for part in (
                         "basic", "blas", "decomp_cholesky", "decomp_lu", "decomp_polar",
                         "solvers", "special_matrices")),
                     "-m", "not slow", "-k", "not int_overflow", limit_s=10000)
    # SKLEARN_RUN_FLOAT32_TESTS=1 repeats tests in single precision. mixture and neighbors are left
    # out: they multiply in double precision only.
    single = ("SKLEARN_RUN_FLOAT32_TESTS=1",)
    for part, tests in (("decomposition", ("decomposition/tests",)),
                        ("cluster", ("cluster/tests/test_k_means.py",)),
                        ("metrics", ("metrics/tests/test_pairwise.py",
                                     "metrics/tests/test_pairwise_distances_reduction.py"))):
        yield pytest_row(f"sklearn.{part}, PyPI", "sklearn", "{python}",
                         tuple("{packages}/sklearn/" + test for test in tests), environment=single)


def scalapack_rows():
    """ScaLAPACK's testers on four processes (scalapack-mpi-test with Open MPI)."""
    folder = f"{LIBS}/scalapack/openmpi-tests"
    launcher = ("mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "4", "--mca", "btl",
                "self,vader", "--mca", "btl_vader_single_copy_mechanism", "none")
    for tester, data, least in (
            ("PBLAS/spb3tst", "PBLAS/PSBLAS3TST.dat", 40), ("xslu", "LU.dat", 100),
            ("xsllt", "LLT.dat", 40), ("xsqr", "QR.dat", 100), ("xsls", "LS.dat", 100),
            ("xsinv", "INV.dat", 50), ("xssvd", "SVD.dat", 2), ("xssep", "SEP.dat", 20),
            ("xssyevr", "SEPR.dat", 20), ("xsgsep", "SEP.dat", 20), ("xsbrd", "BRD.dat", 20),
            ("xshrd", "HRD.dat", 20), ("xstrd", "TRD.dat", 20), ("xsnep", "NEP.dat", 10),
            ("xshseqr", "EVC.dat", 1)):
        yield Suite(f"ScaLAPACK, {os.path.basename(tester)}", "scalapack",
                    ("/usr/bin/mpirun", f"{folder}/{tester}"), ("{1}",), r"(?i)passed", least,
                    launcher=launcher, files=(f"{folder}/{data}",),
                    limit_s=3600 if tester == "xssyevr" else 600,
                    short=tester in ("PBLAS/spb3tst", "xsinv"))


SUITES = (*blas_rows(), *built_rows(), *lapack_rows(), *python_rows(), *scalapack_rows())
GROUPS = tuple(dict.fromkeys(row.group for row in SUITES))


def find(pattern):
    """The first file that matches, or None."""
    found = sorted(glob.glob(pattern))
    return found[0] if found else None
