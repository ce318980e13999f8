# SPDX-License-Identifier: MIT
"""Runs `python -m xgemm_shim ARGUMENT...` as `xgemm-run ARGUMENT...`, which replaces this process. This
Python runs a program that is a Python script, a folder or zip file with __main__.py, -m MODULE, -c CODE or -. With
--profile it runs the program by _lines.py."""
import os
import re
import shutil
import signal
import sys
from typing import List

import xgemm_shim

_COMMANDS = ("run", "ab", "top", "report", "doctor", "calibrate", "history")
_WITH_ARGUMENT = ("-n", "-o", "--report")
_FOR_PYTHON = ("-m", "-c")

# A word of Python's options: letters that take no argument, then at most one that takes one (or the second hyphen of
# a long option), and the rest, which is the argument (or the name).
_OPTION = re.compile("-(?P<flags>[^-cmWX]*)(?P<letter>[-cmWX]?)(?P<rest>.*)", re.DOTALL)


def _is_for_python(word: str) -> bool:
    return word[:2] in _FOR_PYTHON or word == "-"


def _is_zip(path: str) -> bool:
    """True for a zip file that names no interpreter, which the system cannot run."""
    if not os.path.isfile(path):
        return False
    with open(path, "rb") as file:
        return file.read(2) == b"PK"


def _is_script(word: str) -> bool:
    """True for a file or folder that Python can run, false for a program that the launcher finds."""
    program = shutil.which(word)
    if word.endswith((".py", ".pyz")):
        return os.path.exists(word) or not program
    return os.access(word, os.R_OK) and (not program or (program == word and _is_zip(word)))


def _program(arguments: List[str]) -> int:
    """Returns the index of the program, after xgemm-run's command and options."""
    at = 0
    command = False
    while at < len(arguments):
        word = arguments[at]
        if word == "--":
            return at + 1
        if _is_for_python(word):
            return at
        if word in _WITH_ARGUMENT:
            at += 1
        elif not word.startswith("-"):
            if command or word not in _COMMANDS:
                return at
            command = True
        at += 1
    return at


def _options(given: List[str]) -> List[str]:
    """Returns the options before -m of a command line of Python; none if it has no -m.

    >>> _options(["python", "-OWerror", "-bX", "dev", "--check-hash-based-pycs", "always", "-sm", "xgemm_shim", "-c"])
    ['-OWerror', '-bX', 'dev', '--check-hash-based-pycs', 'always', '-s']
    >>> _options(["python", "-W", "-m", "-mxgemm_shim", "-m"])
    ['-W', '-m']
    """
    options: List[str] = []
    words = iter(given[1:])
    for word in words:
        option = _OPTION.match(word)
        if not option or word in ("-", "--") or option["letter"] == "c":
            break
        if option["letter"] == "m":
            return options + (["-" + option["flags"]] if option["flags"] else [])
        options.append(word)
        if option["letter"] + option["rest"] in ("W", "X", "-check-hash-based-pycs"):
            options.append(next(words, ""))
    return []


def _python() -> List[str]:
    """Returns the command of this Python with its options."""
    given = getattr(sys, "orig_argv", None)
    if given is None:  # before 3.10
        with open("/proc/self/cmdline", "rb") as file:
            given = [os.fsdecode(word) for word in file.read().split(b"\0")[:-1]]
    return [sys.executable] + _options(given)


def _profiled(before: List[str], program: List[str]) -> List[str]:
    """Returns the arguments for xgemm-run --profile; `before` precedes the program."""
    if program and program[0][:2] == "-m":
        program = ["-m"] + ([program[0][2:]] if program[0][2:] else []) + program[1:]
    elif not program or program[0][:1] == "-" or not _is_script(program[0]) or _is_zip(program[0]):
        program = []
    if len(program) < 1 + (program[:1] == ["-m"]) or set(before) & set(_COMMANDS[1:]):
        print("xgemm_shim: --profile takes a script, a folder or -m MODULE, and no command but run", file=sys.stderr)
        sys.exit(125)
    return [word for word in before if word != "--profile"] + _python() + ["-m", "xgemm_shim._lines"] + program


def arguments_for_launcher(arguments: List[str]) -> List[str]:
    """Returns the arguments for xgemm-run.

    >>> arguments_for_launcher(["ab", "-n", "3", "ls", "x.py"])
    ['ab', '-n', '3', 'ls', 'x.py']
    >>> arguments_for_launcher(["ab", "-n", "3", "no-such-script.py", "a"])[-2:]
    ['no-such-script.py', 'a']
    """
    at = _program(arguments)
    if "--profile" in arguments[:at]:
        return _profiled(arguments[:at], arguments[at:])
    if at < len(arguments) and sys.executable and (_is_for_python(arguments[at]) or _is_script(arguments[at])):
        return arguments[:at] + _python() + arguments[at:]
    return arguments


def main() -> None:
    # Undo Python's changes to signals and LC_CTYPE, which the program would inherit.
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    environment = dict(os.environb)
    with open("/proc/self/environ", "rb") as file:
        if b"\0LC_CTYPE=" not in b"\0" + file.read():
            environment.pop(b"LC_CTYPE", None)

    launcher = xgemm_shim.launcher()
    try:
        os.execve(launcher, [launcher] + arguments_for_launcher(sys.argv[1:]), environment)
    except OSError as error:
        print("xgemm_shim:", error, file=sys.stderr)
        sys.exit(125)


if __name__ == "__main__":
    main()
