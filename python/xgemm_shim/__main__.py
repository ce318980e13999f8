# SPDX-License-Identifier: MIT
"""Runs `python -m xgemm_shim ARGUMENT...` as `xgemm-run ARGUMENT...`, which replaces this process. This
Python runs a program that is a Python script, -m MODULE or -c CODE."""
import os
import shutil
import signal
import sys
from typing import List

import xgemm_shim

_COMMANDS = ("run", "ab", "top", "report", "doctor")
_WITH_ARGUMENT = ("-n", "-o", "--report")
_FOR_PYTHON = ("-m", "-c")


def _is_script(word: str) -> bool:
    """True for a file for Python, false for a program that the launcher finds."""
    if word.endswith(".py"):
        return os.path.isfile(word) or not shutil.which(word)
    return os.path.isfile(word) and os.access(word, os.R_OK) and not shutil.which(word)


def _program(arguments: List[str]) -> int:
    """Returns the index of the program, after xgemm-run's command and options."""
    at = 0
    command = False
    while at < len(arguments):
        word = arguments[at]
        if word == "--":
            return at + 1
        if word[:2] in _FOR_PYTHON:
            return at
        if word in _WITH_ARGUMENT:
            at += 1
        elif not word.startswith("-"):
            if command or word not in _COMMANDS:
                return at
            command = True
        at += 1
    return at


def _python() -> List[str]:
    """Returns the command of this Python with its options."""
    given = getattr(sys, "orig_argv", None)  # exists from 3.10 on
    options = given[1 : len(given) - len(sys.argv) + 1] if given else []
    if options[-2:-1] == ["-m"]:
        return [sys.executable] + options[:-2]
    return [sys.executable]


def arguments_for_launcher(arguments: List[str]) -> List[str]:
    """Returns the arguments for xgemm-run.

    >>> arguments_for_launcher(["ab", "-n", "3", "ls", "x.py"])
    ['ab', '-n', '3', 'ls', 'x.py']
    >>> arguments_for_launcher(["ab", "-n", "3", "no-such-script.py", "a"])[-2:]
    ['no-such-script.py', 'a']
    """
    at = _program(arguments)
    if at < len(arguments) and sys.executable and (arguments[at][:2] in _FOR_PYTHON or _is_script(arguments[at])):
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
