# SPDX-License-Identifier: MIT
"""Tests of the package xgemm_shim, for unittest and pytest; tests/python/package.sh runs them."""
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

try:
    import ipykernel  # noqa: F401
    import nbclient
    import nbformat
except ImportError:
    nbclient = None

from xgemm_shim import Row, Shape, Stats, _account, launcher, library

SOURCE = os.environ["XG_SOURCE"]
ENGINE = os.environ["XG_ENGINE"] == "yes"
ON_ENGINE = {"XGEMM_MODE": "gpu", "LD_LIBRARY_PATH": os.environ.get("XG_FAKEDRV_DIR", "")}
ON_CPU = {"XGEMM_MODE": "cpu"}

# 512 is above the policy's floor; a.T @ a is SYRK.
MULTIPLY = """
import numpy
a = numpy.ones((512, 512), "f")
b = numpy.ones((512, 96), "f")
"""


def run(command, env=None, cwd=None, stdin=""):
    environment = dict(os.environ, **(env or {}))
    return subprocess.run(
        command, env=environment, cwd=cwd, input=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        universal_newlines=True, timeout=240,
    )


def python(code, env=None, status=0):
    """Runs the code in a process that must end with the status; returns its output."""
    done = run([sys.executable, "-c", code], env)
    if done.returncode != status:
        raise AssertionError("exit status %d: %s%s" % (done.returncode, done.stdout, done.stderr))
    return done


def printed_environment(command, env):
    """Returns the variables that it prints, without those of the library, the shell and Python."""
    done = subprocess.run(command, env=dict(os.environ, **env), stdout=subprocess.PIPE, timeout=240, check=True)
    found = dict(entry.split(b"=", 1) for entry in done.stdout.split(b"\0")[:-1])
    return {name: found[name] for name in found if name not in (b"LD_PRELOAD", b"LC_CTYPE", b"PWD", b"OLDPWD", b"_")}


class Enable(unittest.TestCase):
    def test_in_front(self):
        out = python("""
import xgemm_shim
before = xgemm_shim.enabled()
print(before, xgemm_shim.enable(), xgemm_shim.enabled(), xgemm_shim.enable())""" + MULTIPLY + """
a @ b
print(xgemm_shim.stats().calls)""", ON_CPU).stdout
        self.assertEqual(out, "False True True True\n1\n")

    def test_too_late(self):
        for module, name in (("numpy", "NumPy"), ("numpy.linalg", "NumPy"), ("fake_torch", "PyTorch")):
            code = "import sys, types, xgemm_shim\n"
            code += "sys.modules['torch'] = types.ModuleType('torch')\n" if "torch" in module else "import %s\n" % module
            done = python(code + "xgemm_shim.enable()", status=1)
            self.assertRegex(done.stderr, "RuntimeError: .*too late: %s is already loaded" % name)
            self.assertIn("restart the kernel", done.stderr)
            done = python(code + """
print(xgemm_shim.enable(strict=False), xgemm_shim.enabled(), "libxgemm_shim" in open("/proc/self/maps").read())""")
            self.assertEqual(done.stdout, "False False False\n")
            self.assertRegex(done.stderr, "RuntimeWarning: .*too late: %s is already loaded" % name)

    def test_import_that_is_blocked_is_not_late(self):
        code = "import sys, xgemm_shim; sys.modules['torch'] = None; print(xgemm_shim.enable())"
        self.assertEqual(python(code).stdout, "True\n")

    def test_another_blas_in_front(self):
        code = "import ctypes, sys, xgemm_shim; ctypes.CDLL(sys.argv[1], ctypes.RTLD_GLOBAL); xgemm_shim.enable()"
        with tempfile.TemporaryDirectory() as folder:
            other = os.path.join(folder, "libother.so")
            subprocess.run("echo 'int cblas_sgemm(void) { return 0; }' | %s -xc -shared -fPIC -o %s -"
                           % (os.environ.get("CC") or "cc", other), shell=True, check=True)
            done = run([sys.executable, "-c", code, other])
        self.assertNotEqual(done.returncode, 0)
        self.assertRegex(done.stderr, "RuntimeError: .*libother.so precedes")

    def test_library_of_another_release(self):
        """It has no functions for Python: products run, and stats() raises the reason."""
        with tempfile.TemporaryDirectory() as folder:
            other = os.path.join(folder, "libxgemm_shim.so")
            subprocess.run("echo 'void cblas_sgemm(void) {} void sgemm_(void) {}' | %s -xc -shared -fPIC -o %s -"
                           % (os.environ.get("CC") or "cc", other), shell=True, check=True)
            done = python("import xgemm_shim; print(xgemm_shim.enable()); xgemm_shim.stats()",
                          {"XGEMM_SHIM_LIB": other}, 1)
        self.assertEqual(done.stdout, "True\n")
        self.assertRegex(done.stderr, "RuntimeError: .* are of different releases: .*xgemm_account_read")

    def test_no_library(self):
        done = python("import xgemm_shim; xgemm_shim.enable()", {"XGEMM_SHIM_LIB": "/nonexistent.so"}, 1)
        self.assertIn("OSError: /nonexistent.so", done.stderr)

    def test_sets_what_the_launcher_sets(self):
        for env, keep in (({}, False), ({}, True), ({"OMP_WAIT_POLICY": "passive"}, False),
                          ({"OPENBLAS_THREAD_TIMEOUT": "22"}, False), ({"GOMP_SPINCOUNT": "5"}, False),
                          ({"XGEMM_SPIN": "auto"}, True), ({"XGEMM_SPIN": "keep"}, False),
                          ({"XGEMM_SPIN": "short"}, False), ({"XGEMM_SPIN": "short"}, True)):
            self.sets_what_the_launcher_sets(env, keep)

    def test_sets_what_configuration_files_set(self):
        with tempfile.NamedTemporaryFile("wb") as file:
            site = {"XGEMM_CONFIG": file.name}
            for text in (b"XGEMM_SPIN = keep", b"XGEMM_SPIN = short\nXGEMM_STATS = 0", b"XGEMM_MODE = cpu\nXGEMM_LOG =",
                         b"XGEMM_ACCOUNT = $no 'where'\nXGEMM_LOG = no;\"w=\xe9\xff", b"XGEMM_SPIN"):
                file.truncate(0)
                os.pwrite(file.fileno(), text, 0)
                for env, keep in ((site, False), (site, True), (dict(site, XGEMM_SPIN="auto", XGEMM_LOG="x"), False)):
                    self.sets_what_the_launcher_sets(env, keep)

    def test_no_program_to_read_the_settings(self):
        """Without it, as beside a copied launcher, the library reads the files."""
        done = python("""
import os, xgemm_shim
xgemm_shim._enable.launcher = lambda: "/nonexistent/xgemm-run"
print(xgemm_shim.enable(), os.environ.get("OPENBLAS_THREAD_TIMEOUT"))""", {"XGEMM_SPIN": "short"})
        self.assertEqual((done.stdout, done.stderr), ("True None\n", ""))

    def sets_what_the_launcher_sets(self, env, keep):
        """A program finds the same environment as under xgemm-run."""
        options = ["--keep-env"] if keep else []
        code = "import os, xgemm_shim; xgemm_shim.enable(keep_env=%r); os.system('env -0')" % keep
        with self.subTest(env=env, keep=keep):
            self.assertEqual(printed_environment([sys.executable, "-c", code], env),
                             printed_environment([launcher()] + options + ["--", "env", "-0"], env))

    def test_preloaded(self):
        """Under xgemm-run enable() is never too late, and stats() counts from there."""
        code = MULTIPLY + """
import xgemm_shim
print(xgemm_shim.enabled())
try:
    xgemm_shim.stats()
except RuntimeError as error:
    print(error)
print(xgemm_shim.enable())
a @ b
print(xgemm_shim.stats().calls)"""
        done = run([launcher(), sys.executable, "-c", code], ON_CPU)
        self.assertEqual(done.stdout, "True\nno account is kept: call xgemm_shim.enable() before the first product\n"
                                      "True\n1\n", done.stderr)

    def test_no_account(self):
        """A product before enable() leaves the library without an account; stats() raises."""
        code = MULTIPLY + "a @ b; import xgemm_shim; xgemm_shim.enable(); a @ b; print(xgemm_shim.stats())"
        done = run([launcher(), sys.executable, "-c", code], ON_CPU)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stdout, "")
        self.assertIn("RuntimeError: no account is kept", done.stderr)

    def test_not_enabled(self):
        done = python("import xgemm_shim; xgemm_shim.stats()", status=1)
        self.assertIn("RuntimeError: xgemm_shim is not enabled", done.stderr)


class Account(unittest.TestCase):
    """The package reads what the library counts."""

    def same_as_the_library_prints(self, env):
        with tempfile.TemporaryDirectory() as folder:
            log = os.path.join(folder, "log")
            out = python("import xgemm_shim; xgemm_shim.enable()" + MULTIPLY + """
for n in range(1, 40):
    for _ in range(n % 3 + 1):
        a[:, :n] @ a[:n]
        a.astype("d") @ b
for _ in range(12):  # so often that it is among the twenty shapes that took longest
    a.T @ a
(a + 1j) @ b
xgemm_shim.report()""", dict(env, XGEMM_STATS="1", XGEMM_LOG=log)).stdout
            with open(log) as file:
                self.assertEqual(out, file.read())
        self.assertRegex(out, r"ssyrk.* 512 +512 +512 +[NT]{2} ")
        self.assertEqual(out.count("\n"), 1 + 1 + out.count("XGEMM_MODE ") + out.count("nothing to") +
                         out.count("that stayed") + 2 + 20
                         + out.count("too small"))

    def test_on_the_cpu(self):
        self.same_as_the_library_prints(ON_CPU)

    @unittest.skipUnless(ENGINE, "no fake driver")
    def test_on_the_engine(self):
        self.same_as_the_library_prints(ON_ENGINE)

    def test_words(self):
        """The package has the reasons of src/base/xg.c, in the order of the enum."""
        with open(os.path.join(SOURCE, "src/base/xg.h")) as file:
            enum = re.search(r"enum xg_reason \{(.*?)XG_REASON_COUNT", file.read(), re.S).group(1)
        with open(os.path.join(SOURCE, "src/base/xg.c")) as file:
            texts = dict(re.findall(r'\[(XG_REASON_\w+)\] = "(.*)",', file.read()))
        self.assertEqual([texts[name] for name in re.findall(r"\bXG_REASON_\w+", enum)], list(_account._REASONS))

    def test_version(self):
        with open(os.path.join(SOURCE, "src/report/account.h")) as file:
            text = file.read()
        self.assertEqual(int(re.search(r"XG_ACCOUNT_VERSION = (\d+)", text).group(1)), _account._VERSION)
        content = _account._MAGIC + (_account._VERSION + 1).to_bytes(4, sys.byteorder) + bytes(_account._BYTES - 12)
        with self.assertRaisesRegex(ValueError, "has version %d" % (_account._VERSION + 1)):
            _account.parse(content)

    def test_what_is_no_account(self):
        head = _account._MAGIC + _account._VERSION.to_bytes(4, sys.byteorder)
        for content in (b"", b"xgacct", bytes(_account._BYTES), head, head + bytes(_account._BYTES - 12)):
            with self.assertRaises(ValueError):
                _account.parse(content)

    def test_difference(self):
        row = Row("GPU", "trial", "dgemm_", 2, 8.0, 4.0, 1.0, 0.5)
        shape = Shape("dgemm_", 3, 4, 5, "N", "T", True, "GPU", "kernel", 2, 8.0, 1.0)
        early = Stats([row], [shape], pid=7)
        more = Stats([row._replace(calls=5, seconds=3.0)], [shape._replace(calls=5), shape._replace(m=9)], pid=7)
        between = more - early
        self.assertEqual(between.rows, [row._replace(calls=3, flops=0.0, bytes=0.0, seconds=2.0, waited=0.0)])
        self.assertEqual([(s.m, s.calls) for s in between.shapes], [(3, 3), (9, 2)])
        self.assertEqual((early - early).rows, [])
        self.assertEqual((Stats([row], pid=8) - early).calls, 2)
        json.dumps(more.as_dict())


class PyTorch(unittest.TestCase):
    def setUp(self):
        if run([sys.executable, "-c", "import torch"]).returncode:
            self.skipTest("no PyTorch")

    def test_products(self):
        out = python("""
import xgemm_shim; xgemm_shim.enable()
import torch
a, layer = torch.ones(512, 512), torch.nn.Linear(512, 96)
with xgemm_shim.profile() as block:
    c, d, e = a @ a, layer(a), torch.mm(a.double(), a.double())
assert (c == 512).all() and (e == 512).all()
print(sorted((row.name, row.calls) for row in block.rows))""", ON_CPU).stdout
        self.assertEqual(out, "[('dgemm_', 1), ('sgemm_', 2)]\n")


class Blocks(unittest.TestCase):
    def test_profile(self):
        out = python("import xgemm_shim, threading; xgemm_shim.enable()" + MULTIPLY + """
a @ b
with xgemm_shim.profile() as block:
    thread = threading.Thread(target=lambda: a @ b)
    thread.start(); thread.join()
    a.astype("d") @ b
print(block.calls, xgemm_shim.stats().calls, block.cpu_calls, block.flops, len(block.rows), block.seconds > 0)
try:
    with xgemm_shim.profile() as block:
        a @ b
        1 / 0
except ZeroDivisionError:
    print(block.calls, block.shapes[0].m * block.shapes[0].n * block.shapes[0].k)
with xgemm_shim.profile() as block:
    pass
print(block)""", ON_CPU).stdout
        self.assertEqual(out, "2 3 2 %s 2 True\n1 %d\nxgemm: no products\n" % (4.0 * 512 * 512 * 96, 512 * 512 * 96))

    @unittest.skipUnless(ENGINE, "no fake driver")
    def test_where(self):
        out = python("import xgemm_shim; xgemm_shim.enable()" + MULTIPLY + """
with xgemm_shim.profile() as block:
    c = a @ b
assert (c == 512).all()
print(block.gpu_calls, block.calls, block.rows[0].where, block.rows[0].why, block.bytes >= a.nbytes + b.nbytes)
print(block.shapes[0].kernel != "", block.shapes[0].m, block.shapes[0].n, block.shapes[0].k)""", ON_ENGINE).stdout
        self.assertEqual(out, "1 1 GPU XGEMM_MODE True\nTrue 512 96 512\n")


class Processes(unittest.TestCase):
    """Nothing is left in the folder of temporary files, however a process ends (contract 10.4)."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.script = os.path.join(folder.name, "script.py")
        temporary = os.path.join(folder.name, "tmp")
        os.mkdir(temporary)
        self.addCleanup(lambda: self.assertEqual(os.listdir(temporary), [], "something is left"))
        place = unittest.mock.patch.dict(os.environ, TMPDIR=temporary)
        self.addCleanup(place.stop)
        place.start()

    def test_no_file(self):
        """Also without TMPDIR."""
        with unittest.mock.patch.dict(os.environ):
            del os.environ["TMPDIR"]
            out = python("import os, xgemm_shim; xgemm_shim.enable()" + MULTIPLY + """
a @ b
with open("/proc/self/maps") as maps:
    print(xgemm_shim.stats().calls, "XGEMM_ACCOUNT" in os.environ, [line for line in maps if " rw-s " in line])""",
                         ON_CPU).stdout
        self.assertEqual(out, "1 False []\n")

    def test_ends_without_exit_handlers(self):
        for end, status in (("os._exit(3)", 3), ("os.kill(os.getpid(), signal.SIGKILL)", -9),
                            ("os.kill(os.getpid(), signal.SIGTERM)", -15), ("os.abort()", -6)):
            with self.subTest(end=end):
                out = python("import os, signal, xgemm_shim; xgemm_shim.enable()" + MULTIPLY + """
a @ b
print(xgemm_shim.stats().calls, flush=True)
""" + end, ON_CPU, status).stdout
                self.assertEqual(out, "1\n")

    def test_exec(self):
        """The new program keeps no account and prints nothing, also if it multiplies."""
        done = python("import os, sys, xgemm_shim; xgemm_shim.enable()" + MULTIPLY + """
a @ b
code = '''import numpy, os, xgemm_shim; numpy.ones((512, 512)) @ numpy.ones((512, 9))
print("XGEMM_ACCOUNT" in os.environ)
try:
    xgemm_shim.stats()
except RuntimeError as error:
    print(error)'''
os.execl(xgemm_shim.launcher(), "xgemm-run", sys.executable, "-c", code)""", ON_CPU)
        self.assertEqual((done.stdout, done.stderr), (
            "False\nno account is kept: call xgemm_shim.enable() before the first product\n", ""))

    def test_pools(self):
        """Workers of a pool end by os._exit or, at the end of `with`, by SIGTERM."""
        with open(self.script, "w") as file:
            file.write("import sys, xgemm_shim; xgemm_shim.enable()" + MULTIPLY + """
import multiprocessing
def calls(n):
    a @ b
    return xgemm_shim.stats().calls
if __name__ == "__main__":
    context = multiprocessing.get_context(sys.argv[1])
    with context.Pool(2) as pool:
        print(max(pool.map(calls, range(8), 1)) >= 4, end=" ")
    pool = context.Pool(2)
    print(max(pool.map(calls, range(8), 1)) >= 4, end=" ")
    pool.close()
    pool.join()
    print(xgemm_shim.stats().calls)""")
        for method in ("fork", "spawn", "forkserver"):
            with self.subTest(method=method):
                done = run([sys.executable, self.script, method], ON_CPU)
                self.assertEqual((done.stdout, done.returncode), ("True True 0\n", 0), done.stderr)

    def test_two_interpreters(self):
        """They share the counts of the process, and the end of one leaves them to the other."""
        done = python("""
try:
    import _interpreters as interpreters
    new = lambda: interpreters.create("legacy")
except ImportError:
    import _xxsubinterpreters as interpreters, sys
    new = lambda: interpreters.create(**({"isolated": False} if sys.version_info >= (3, 9) else {}))
import xgemm_shim; xgemm_shim.enable()""" + MULTIPLY + """
second = new()
interpreters.run_string(second, "import xgemm_shim; print(xgemm_shim.enable(), flush=True)")
a @ b
interpreters.run_string(second, "print(xgemm_shim.stats().calls, flush=True)")
interpreters.destroy(second)
a @ b
print(xgemm_shim.stats().calls)""", ON_CPU)
        self.assertEqual(done.stdout, "True\n1\n2\n")

    def test_fork(self):
        out = python("import os, sys, xgemm_shim; xgemm_shim.enable()" + MULTIPLY + """
a @ b
a @ b
with xgemm_shim.profile() as block:
    pid = os.fork()
    if not pid:
        a @ b
if not pid:
    print(xgemm_shim.stats().calls, block.calls, flush=True)
    sys.exit()
os.waitpid(pid, 0)
a @ b
print(xgemm_shim.stats().calls)""", ON_CPU).stdout
        self.assertEqual(out, "1 1\n3\n")

    def test_child_that_ends_first_by_exit(self):
        out = python("import os, sys, xgemm_shim; xgemm_shim.enable()" + MULTIPLY + """
pid = os.fork()
if not pid:
    sys.exit()
os.waitpid(pid, 0)
a @ b
print(xgemm_shim.stats().calls)""", ON_CPU).stdout
        self.assertEqual(out, "1\n")

    def test_child_that_outlives(self):
        out = python("import os, sys, time, xgemm_shim; xgemm_shim.enable()" + MULTIPLY + """
parent = os.getpid()
ready, tell = os.pipe()
if not os.fork():
    a @ b
    os.write(tell, b".")
    while os.path.exists("/proc/%d" % parent) and os.getppid() == parent:
        time.sleep(0.01)
    a @ b
    print(xgemm_shim.stats().calls, flush=True)
    sys.exit()
os.read(ready, 1)""", ON_CPU).stdout
        self.assertEqual(out, "2\n")

    def test_folder_that_the_user_names(self):
        """The folder, from the environment or a file, gets the account; stats() counts the same."""
        config = self.script + ".conf"
        with tempfile.TemporaryDirectory() as folder:
            with open(config, "w") as file:
                file.write("XGEMM_ACCOUNT = %s\n" % folder)
            for given in ({"XGEMM_ACCOUNT": folder}, {"XGEMM_CONFIG": config}):
                with self.subTest(given=given):
                    out = python("import os, xgemm_shim; xgemm_shim.enable()" + MULTIPLY + """
a @ b
print(xgemm_shim.stats().calls, os.environ["XGEMM_ACCOUNT"], os.getpid())""", dict(ON_CPU, **given)).stdout.split()
                    self.assertEqual(out[:2], ["1", folder])
                    with open(os.path.join(folder, out[2]), "rb") as file:
                        self.assertEqual(_account.parse(file.read()).calls, 1)


class Doctests(unittest.TestCase):
    def test_all(self):
        for name in ("xgemm_shim", "xgemm_shim._account", "xgemm_shim.__main__"):
            out = python("import doctest, importlib; print(doctest.testmod(importlib.import_module(%r)))" % name,
                         {"XGEMM_MODE": "cpu"}).stdout
            self.assertRegex(out, r"^TestResults\(failed=0, attempted=[1-9]\d*")


@unittest.skipIf(nbclient is None, "no nbclient and ipykernel")
class Notebook(unittest.TestCase):
    def cells(self, *sources):
        notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in sources])
        os.environ["XGEMM_MODE"] = "cpu"
        self.addCleanup(os.environ.pop, "XGEMM_MODE", None)
        nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3", allow_errors=True).execute()
        return notebook.cells

    @staticmethod
    def printed(cell, name="stdout"):
        return "".join(out.text for out in cell.outputs if out.output_type == "stream" and out.name == name)

    @staticmethod
    def errors(cell):
        return [out.ename for out in cell.outputs if out.output_type == "error"]

    def test_cell(self):
        cells = self.cells(
            "%load_ext xgemm_shim",
            MULTIPLY + "a @ b;",
            "%%xgemm\nfor _ in range(2):\n    c = a @ b\nprint('in between')\nc.shape",
            "%%xgemm\nd = a.astype('d') @ b\n1 / 0",
            "%%xgemm\n%time e = a @ b\n",
            "%%xgemm\npass",
            "import xgemm_shim; print(xgemm_shim.stats().calls, d.dtype, e.shape)",
            "%unload_ext xgemm_shim",
            "%%xgemm\n1",
        )
        for cell in cells[:3] + cells[4:8]:
            self.assertEqual(self.errors(cell), [], cell.source)
        self.assertRegex(self.printed(cells[2]), r"(?s)^in between\nxgemm: 2 products, .*where +why +name.*"
                                                 r"CPU +XGEMM_MODE +\w*cblas_sgemm\w* +sgemm +2 ")
        shown = [out for out in cells[2].outputs if out.output_type == "execute_result"]
        self.assertEqual(shown[0].data["text/plain"], "(512, 96)")
        self.assertEqual(self.errors(cells[3]), ["ZeroDivisionError"])
        self.assertRegex(self.printed(cells[3]), r"xgemm: 1 product.*(?s:.*)cblas_dgemm")
        self.assertIn("xgemm: 1 product", self.printed(cells[4]))
        self.assertEqual(self.printed(cells[5]), "xgemm: no products\n")
        self.assertEqual(self.printed(cells[6]), "5 float64 (512, 96)\n")
        self.assertNotEqual(self.printed(cells[8], "stderr") + "".join(self.errors(cells[8])), "")

    def test_lines(self):
        """%%xgemm -l: lines of the cell, and of a function of an earlier cell."""
        cells = self.cells("%load_ext xgemm_shim", MULTIPLY + "def f():\n    return a @ b",
                           "%%xgemm -l\nc = f()\nfor _ in range(2): d = a @ b\nd.shape", "%%xgemm -l\na @ b\n1 / 0",
                           "%%xgemm -l\n%time e = a @ b", "%%xgemm -l\npass", "%%xgemm -x\npass",
                           "import sys; print(sys.gettrace())")
        self.assertEqual([self.errors(cell) for cell in cells[2:]],
                         [[], ["ZeroDivisionError"], [], [], ["ValueError"], []])
        self.assertRegex(self.printed(cells[2]), r"^xgemm: 3 products(?s:.*)\n  this cell\n"
                         r" +2 sgemm +CPU +2 .* for _ in range\(2\): d = a @ b\n"
                         r"(?s:.*) 5 sgemm +CPU +1 .* return a @ b\n +all +3 ")
        self.assertEqual(cells[2].outputs[-1].data["text/plain"], "(512, 96)")
        self.assertRegex(self.printed(cells[3]), r" 1 sgemm +CPU +1 .* a @ b\n")
        self.assertRegex(self.printed(cells[4]), r"this cell\n +1 sgemm +CPU +1 ")
        self.assertEqual(self.printed(cells[5]), "xgemm: no products\n")
        self.assertEqual(self.printed(cells[7]), "None\n")

    def test_semicolon(self):
        """A semicolon silences the value as in a cell without the magic."""
        quiet = ("1 + 1;", "1 + 1 ;  # comment", "x = 1\n1 + 1;\n\n# end\n", "'a';", "1; 2;", "(1 +\n1);")
        shown = ("1 + 1  # not quiet;", "'a;'", "1 + 1; 2", "1;\n2")
        either = ("%time 1 + 1;",)  # depends on IPython's release
        cells = self.cells("%load_ext xgemm_shim",
                           *[start + cell for cell in quiet + shown + either for start in ("", "%%xgemm\n")])
        results = [[out.data["text/plain"] for out in cell.outputs if out.output_type == "execute_result"]
                   for cell in cells[1:]]
        self.assertEqual(sum(map(self.errors, cells), []), [])
        self.assertEqual(results[1::2], results[::2])
        self.assertEqual([len(result) for result in results[:-2:2]], [0] * len(quiet) + [1] * len(shown))

    def test_no_account(self):
        """A kernel under the launcher multiplies before it loads the extension."""
        with unittest.mock.patch.dict(os.environ, LD_PRELOAD=library()):
            cells = self.cells(MULTIPLY + "c = a @ b", "%load_ext xgemm_shim", "%%xgemm\n40 + 2")
        self.assertEqual(sum(map(self.errors, cells), []), [])
        self.assertRegex(self.printed(cells[2]), "^xgemm: no account is kept: ")
        self.assertEqual(cells[2].outputs[-1].data["text/plain"], "42")

    def test_too_late(self):
        cells = self.cells("import numpy", "%load_ext xgemm_shim", "%%xgemm\n40 + 2")
        self.assertEqual(self.errors(cells[1]) + self.errors(cells[2]), [])
        self.assertRegex(self.printed(cells[1], "stderr"), "too late: NumPy is already loaded")
        self.assertRegex(self.printed(cells[2]), "^xgemm: not enabled; restart the kernel")
        self.assertEqual(cells[2].outputs[-1].data["text/plain"], "42")


if __name__ == "__main__":
    assert os.path.exists(library())
    unittest.main()
