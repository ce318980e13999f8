# SPDX-License-Identifier: MIT
"""Tests of python -m xgemm_shim, for unittest and pytest; tests/python/package.sh runs them."""
import os
import sys
import tempfile
import unittest
import zipfile

from package import run


class Command(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.write("p.py", "import os, sys; print(sys.argv[1:], 'libxgemm_shim' in os.environ.get('LD_PRELOAD', ''))")
        self.write("plain", "import sys; print('plain', sys.argv[1:]); sys.exit(9)")
        self.write("tool", "#!/bin/sh\necho tool \"$@\"\n", 0o755)
        self.write("own.py", "#!/bin/sh\necho not Python\n", 0o755)

    def write(self, name, text, mode=0o644):
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(text)
        os.chmod(path, mode)

    def expect(self, words, out, status=0, flags=("-m", "xgemm_shim"), stdin=""):
        path = os.path.join(self.folder, "bin") + ":" + os.environ["PATH"]
        done = run([sys.executable] + list(flags) + words, {"PATH": path}, self.folder, stdin)
        self.assertEqual((done.stdout, done.returncode), (out, status), done.stderr)

    def test_script(self):
        self.expect(["p.py", "-m", "a b"], "['-m', 'a b'] True\n")
        self.expect(["./p.py"], "[] True\n")
        self.expect(["--", "p.py", "--help"], "['--help'] True\n")
        self.expect(["--keep-env", "p.py"], "[] True\n")
        self.expect(["run", "p.py", "run"], "['run'] True\n")
        self.expect(["plain", "x"], "plain ['x']\n", 9)
        self.expect(["no-such.py"], "", 2)

    def test_module_and_code(self):
        self.expect(["-m", "p", "x"], "['x'] True\n")
        self.expect(["-mp", "x"], "['x'] True\n")
        self.expect(["-c", "import sys; print(sys.argv, sys.executable)", "x"], "['-c', 'x'] %s\n" % sys.executable)
        self.expect(["run", "-m", "p"], "[] True\n")

    def test_options_of_python(self):
        """Python's options work in every combination with -m and with their arguments."""
        code = "import sys; print(sys.flags.optimize, sys.flags.dev_mode, sys.flags.no_site, sys.warnoptions)"
        runs = "import runpy; runpy.run_module('xgemm_shim', run_name='__main__', alter_sys=True)"
        for flags, out in (
            (["-m", "xgemm_shim"], "0 False 0 []"),
            (["-O", "-X", "importtime", "-bm", "xgemm_shim"], "1 False 0 ['default::BytesWarning']"),
            (["-Om", "xgemm_shim"], "1 False 0 []"),
            (["-mxgemm_shim"], "0 False 0 []"),
            (["-OOmxgemm_shim"], "2 False 0 []"),
            (["-OWerror", "-Xdev", "-m", "xgemm_shim"], "1 True 0 ['default', 'error']"),
            (["-OW", "error", "-mxgemm_shim"], "1 False 0 ['error']"),
            (["-W", "ignore", "-X", "dev", "-Bm", "xgemm_shim"], "0 True 0 ['default', 'ignore']"),
            (["--check-hash-based-pycs", "always", "-Om", "xgemm_shim"], "1 False 0 []"),
            (["-W", "-m", "-c", runs], "0 False 0 []"),
        ):
            with self.subTest(flags=flags):
                self.expect(["-c", code], out + "\n", 0, flags)
                self.expect(["-m", "p", "-O", "-m"], "['-O', '-m'] True\n", 0, flags)

    def test_folders_and_zip_files(self):
        """They run as with `python FOLDER`; a program on the PATH comes first."""
        main = "import sys; print('main', sys.argv, __name__, __file__)"
        self.write("folder/__main__.py", main)
        self.write("env/__main__.py", main)
        self.write("empty/readme", "")
        for name in ("app.zip", "app", "own.pyz"):
            path = os.path.join(self.folder, name)
            with open(path, "wb") as file:
                file.write(b"#!/bin/false\n" if name == "own.pyz" else b"")
            with zipfile.ZipFile(path, "a") as file:
                file.writestr("__main__.py", main)
            os.chmod(path, 0o644 if name == "app.zip" else 0o755)
        for word in ("folder", "./folder/", self.folder + "/folder", "./env", "app.zip", "./app", "own.pyz",
                     "./own.pyz", "empty"):
            for command in ([], ["run"], ["--"]):
                with self.subTest(command=command, word=word):
                    plain = run([sys.executable, word, "-m", "x"], None, self.folder)
                    self.assertEqual((plain.stdout[:4], plain.returncode), ("", 1) if word == "empty" else ("main", 0))
                    self.expect(command + [word, "-m", "x"], plain.stdout, plain.returncode)
        self.expect(["env", "echo", "x"], "x\n")

    def test_standard_input(self):
        code = "import os, sys; print(sys.argv, sys.flags.optimize, 'libxgemm_shim' in os.environ['LD_PRELOAD'])"
        for command in ([], ["run"], ["--"], ["--keep-env"]):
            with self.subTest(command=command):
                self.expect(command + ["-", "a", "-"], "['-', 'a', '-'] 1 True\n", 0, ["-Om", "xgemm_shim"], code)
        self.expect(["/dev/stdin", "a"], "['/dev/stdin', 'a'] 0 True\n", 0, ["-m", "xgemm_shim"], code)

    def test_commands_take_scripts(self):
        self.expect(["ab", "-n", "1", "p.py", "1"], "['1'] False\n['1'] True\n")
        self.expect(["top", "-m", "p"], "[] True\n")

    def test_programs_stay_programs(self):
        self.expect(["./tool", "p.py"], "tool p.py\n")
        self.expect(["sh", "-c", "echo $1", "sh", "p.py"], "p.py\n")
        self.expect(["env", "A=b", "sh", "-c", "echo $A"], "b\n")
        self.expect(["no-such-program"], "", 127)
        self.expect(["--no-such-option", "p.py"], "", 125)
        self.write("bin/on-path.py", "#!/bin/sh\necho found\n", 0o755)
        self.expect(["on-path.py"], "found\n")
        # A file here does not hide the program of its name.
        self.write("echo", "print('hidden')")
        self.expect(["echo", "x"], "x\n")


if __name__ == "__main__":
    unittest.main()
