# SPDX-License-Identifier: MIT
"""Tests of the profile by line, for unittest and pytest; tests/python/package.sh runs them."""
import os
import re
import sys
import tempfile
import unittest

from package import ENGINE, ON_CPU, ON_ENGINE, run

# Comments give the calls of a line.
SCRIPT = """
import sys, threading, numpy, helper
a = numpy.ones((512, 512), "f")
def twice():
    helper.square(a)
    return helper.square(a) @ a  # 1
def rows():
    for _ in range(3):
        yield a @ a  # 3
def power(n):
    return power(n - 1) @ a if n else a  # 4
def fails():
    a @ a  # 3
    raise KeyError
def caught():
    try:
        fails()
    except KeyError:
        a @ a; a @ a  # 4
b = twice() + a @ a; b @ b  # 2
list(rows())
power(4)
caught()
caught()
sorted([1, 2], key=lambda x: (a @ a)[0, 0])  # 2
c = numpy.linalg.solve(numpy.eye(512), a)  # 1
for target, args in ((fails, ()), (numpy.dot, (a, a))):
    thread = threading.Thread(target=target, args=args)
    threading.excepthook = lambda args: None
    thread.start()
    thread.join()
"""
HELPER = "def square(x):\n    return x @ x  # 2\n"

THREADS = """
import threading, numpy
a = numpy.ones((256, 256), "f")
def even():
    for _ in range(150):
        a @ a
def odd():
    for _ in range(170):
        a @ a
threads = [threading.Thread(target=target) for target in (even, odd, even, odd)]
for thread in threads: thread.start()
for thread in threads[:3]: thread.join()
"""


class Lines(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = os.path.realpath(folder.name)

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(text)
        return path

    def profile(self, words, env=ON_CPU, status=0):
        done = run([sys.executable, "-m", "xgemm_shim", "--profile"] + words, env, self.folder)
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def calls(self, report):
        """Returns the calls by file and line."""
        self.assertLessEqual(max(map(len, report.splitlines())), 80, report)
        found = {}
        file = None
        for line in report.splitlines():
            number = re.match(r" +(\d*) +[a-z]+ +(?:CPU|GPU) +(\d+) ", line)
            if number:
                key = os.path.basename(file), int(number.group(1) or 0)
                found[key] = found.get(key, 0) + int(number.group(2))
            file = line[2:] if re.match(r"  [^ ]+$", line) else file
        return found

    def expected(self, **texts):
        return {(name + ".py", number): int(line.rsplit("  # ", 1)[1])
                for name, text in texts.items() for number, line in enumerate(text.splitlines(), 1) if "  # " in line}

    def test_lines(self):
        self.write("helper.py", HELPER)
        report = self.profile([self.write("script.py", SCRIPT)]).stderr
        expected = self.expected(script=SCRIPT, helper=HELPER)
        expected["elsewhere", 0] = 1
        self.assertEqual(self.calls(report), expected, report)
        self.assertRegex(report, r" dgesv +CPU +1 +\d\.\d+ +- c = numpy.linalg.solve\(numpy")
        self.assertRegex(report, r"\n +all +%d +\d" % sum(expected.values()))
        self.assertNotIn("saved:", report)

    @unittest.skipUnless(ENGINE, "no fake driver")
    def test_on_the_engine(self):
        report = self.profile([self.write("s.py", "import numpy\na = numpy.ones((512, 512), 'f')\na @ a")],
                              ON_ENGINE).stderr
        self.assertRegex(report, r" 3 sgemm +GPU +1 +\d+\.\d+ +(-?\d+\.\d+) a @ a\n +all +1 +\d+\.\d+ +\1\n  saved: ")

    def test_threads_at_once(self):
        """Each thread's products belong to its own lines; the last thread ends after the main one."""
        report = self.profile([self.write("t.py", THREADS)]).stderr
        self.assertEqual(self.calls(report), {("t.py", 6): 300, ("t.py", 9): 340}, report)

    def test_nothing(self):
        done = self.profile([self.write("n.py", "print('x')")])
        self.assertEqual((done.stdout, done.stderr), ("x\n", "xgemm: no products; xgemm-run doctor says why\n"))

    def test_ends(self):
        """Output, traceback and status are those of Python, and the profile is printed."""
        begin = "import atexit, numpy, os, sys\na = numpy.ones((512, 512), 'f')\na @ a\n"
        exits = "print(sys.argv, *map(os.path.abspath, (sys.path[0], __file__)), __name__); sys.exit(3)"
        for end in (exits, "sys.exit('why')", "1 / 0", "os.kill(os.getpid(), 2)", "sys.modules['__main__'].a",
                    "os.chdir('/')", "import pickle\nclass C: pass\nprint(type(pickle.loads(pickle.dumps(C()))))"):
            script = self.write("folder/s.py", begin + end)
            self.write("folder/__main__.py", begin + end)
            more = (["folder", "a"], ["-m", "folder.s", "a"]) if end == exits else ()
            for words in ([script, "a"], ["-m", "folder"], *more):
                with self.subTest(words=words, end=end):
                    plain = run([sys.executable] + words, ON_CPU, self.folder)
                    done = self.profile(words, ON_CPU, plain.returncode)
                    self.assertEqual(done.stdout, plain.stdout)
                    errors = re.sub(r"(?m)^  File \"[^\"]*runpy.*\n(    .*\n)?", "", plain.stderr)
                    self.assertTrue(done.stderr.startswith(errors), (errors, done.stderr))
                    self.assertEqual(list(self.calls(done.stderr).values()), [1])
        script = self.write("s.py", ")")
        self.assertEqual(self.profile([script], ON_CPU, 1).stderr, run([sys.executable, script]).stderr)
        script = self.write("s.py", begin + "atexit.register(lambda: a @ a)\n")
        self.assertEqual(self.calls(self.profile([script]).stderr), {("s.py", 3): 1, ("s.py", 4): 1})

    def test_children(self):
        """Forked children print no profile, and workers find the functions of the script."""
        script = self.write("c.py", """
import multiprocessing, numpy, os, sys
a = numpy.ones((512, 512), "f")
def f(n):
    return float((a @ a)[0, 0])
if __name__ == "__main__":
    for method in ("fork", "spawn"):
        with multiprocessing.get_context(method).Pool(2) as pool:
            print(pool.map(f, range(3)))
    if not os.fork():
        sys.exit()
    os.wait()
    a @ a
""")
        done = self.profile([script])
        self.assertEqual(done.stdout, "[512.0, 512.0, 512.0]\n" * 2)
        self.assertEqual(self.calls(done.stderr), {("c.py", 13): 1}, done.stderr)

    def test_misuse(self):
        script = self.write("s.py", "")
        for words in ([], ["-m"], ["-c", "1"], ["-"], ["ls"], ["ab", script]):
            with self.subTest(words=words):
                self.assertRegex(self.profile(words, ON_CPU, 125).stderr, "^xgemm_shim: --profile takes [^\n]*\n$")
        self.assertIn("can't open file", self.profile(["no-such.py"], ON_CPU, 2).stderr)
        self.profile(["run", "--keep-env", script])
        self.profile(["-ms"])


if __name__ == "__main__":
    unittest.main()
