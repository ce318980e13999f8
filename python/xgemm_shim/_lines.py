# SPDX-License-Identifier: MIT
"""A profile by line: which lines of a program made which products and routines, for `python -m xgemm_shim --profile`,
which runs this module, and for %%xgemm -l.

The library sums the calls of each thread (src/report/thread_sums.h). When a line begins or a function returns, the
calls since then belong to the innermost line of the program's own files that the thread was executing.
"""
import atexit
import builtins
import collections
import ctypes
import functools
import io
import linecache
import os
import runpy
import struct
import sys
import sysconfig
import threading
import types
from typing import Any, Callable, Dict, List, Optional, Tuple, Type

from . import _account, _enable

_ROW = struct.Struct("=40sqqqdd")
_BYTES = 8 + 64 * _ROW.size
_WIDTH = 80

_HEAD = ("line", "operation", "where", "calls", "seconds", "saved", "source")
_LEFT = ("operation", "where", "source")

# Sums are calls, those of which the CPU's time was predicted, seconds, and the seconds saved by the latter.
_Place = Tuple[str, int]  # file and line
_Sums = Dict[Tuple[_Place, bytes, int], List[float]]  # by line, symbol and enum xg_place
_Key = Tuple[_Place, str, str]  # line, function, and "CPU", "GPU" or "both"
_ELSEWHERE = "elsewhere", 0

_STANDARD = (os.path.join(sysconfig.get_path("stdlib"), ""), os.path.join(os.path.dirname(__file__), ""), "<")
_INSTALLED = (os.sep + "site-packages" + os.sep, os.sep + "dist-packages" + os.sep)


def _cells(number: str, operation: str, where: str, sums: List[float], source: str) -> Tuple[str, ...]:
    calls, predicted, seconds, saved = sums
    return (number, operation, where, "%d" % calls, "%.4f" % max(seconds, 0.0),
            "%.4f" % saved if predicted > 0 else "-", source)


class _Thread(threading.local):
    """What is known of one thread; Python calls __init__ in each."""

    def __init__(self, every: List[_Sums]) -> None:
        address = _account.thread_sums()
        self.head = (ctypes.c_uint32 * 2).from_address(address)  # bytes and row_count
        if self.head[0] != _BYTES:
            raise RuntimeError("xgemm_shim and libxgemm_shim.so are of different releases")
        self.head[1] = 0
        self.rows = address + 8
        self.lines: Dict[types.FrameType, _Place] = {}  # of running frames; f_lineno of a caller can be slow
        self.line: Optional[_Place] = None  # of the innermost frame in `lines`
        self.sums: _Sums = {}
        every.append(self.sums)

    def take(self) -> None:
        """Moves the calls since the last time to the line; without one they are found elsewhere."""
        rows = ctypes.string_at(self.rows, self.head[1] * _ROW.size)
        self.head[1] = 0
        if self.line is None:
            return
        for symbol, place, *added in _ROW.iter_unpack(rows):
            sums = self.sums.setdefault((self.line, symbol, place), [0, 0, 0.0, 0.0])
            for index, value in enumerate(added):
                sums[index] += value


class Lines:
    """Profiles between start() and stop(). Lines of files that are neither installed nor Python's are traced, in this
    thread and in those that start later. `cell` is the file name of a notebook's cell."""

    def __init__(self, cell: str = "") -> None:
        self._cell = cell
        self._traced = {cell: True}  # by file
        self._every: List[_Sums] = []
        self._thread = _Thread(self._every)
        self._before = _enable.stats()
        self._others: Tuple[Any, Any] = sys.gettrace(), getattr(threading, "_trace_hook", None)

    def start(self) -> None:
        threading.settrace(self._call)
        sys.settrace(self._call)

    def stop(self) -> None:
        sys.settrace(self._others[0])
        threading.settrace(self._others[1])
        self._total = _enable.stats() - self._before

    def _call(self, frame: types.FrameType, event: str, arg: Any) -> Any:
        name = frame.f_code.co_filename
        traced = self._traced.get(name)
        if traced is None:
            installed = name.startswith(_STANDARD) or any(part in name for part in _INSTALLED)
            main = frame.f_globals.get("__name__") == "__main__" and not name.startswith("<")
            traced = self._traced[name] = main or not installed
        return self._line(frame, event, arg) if traced else None

    def _line(self, frame: types.FrameType, event: str, arg: Any) -> Any:
        thread = self._thread
        if thread.head[1]:
            thread.take()
        lines = thread.lines
        if event == "return":  # also by an exception, and of a generator that yields
            lines.pop(frame, None)
            caller = frame.f_back
            while caller is not None and caller not in lines:
                caller = caller.f_back
            thread.line = None if caller is None else lines[caller]
        else:
            thread.line = lines[frame] = (frame.f_code.co_filename, frame.f_lineno)
        return self._line

    def _sums(self) -> Dict[_Key, List[float]]:
        """Returns the sums of all threads; calls that no line made have the file and line _ELSEWHERE."""
        result: Dict[_Key, List[float]] = collections.defaultdict(lambda: [0, 0, 0.0, 0.0])

        def add(line: _Place, name: str, where: str, sums: List[float], sign: int = 1) -> None:
            result[line, name, where] = [old + sign * new for old, new in zip(result[line, name, where], sums)]

        for row in self._total.rows:
            add(_ELSEWHERE, row.name, row.where, [row.calls, 0, row.seconds, 0.0])
        for every in self._every:
            for (line, symbol, place), sums in list(every.items()):
                name, where = _account.text(symbol), _account.word(_account.PLACES, place)
                add(line, name, where, sums)
                add(_ELSEWHERE, name, where, sums, -1)
        return {key: sums for key, sums in result.items() if sums[0] > 0}

    def __str__(self) -> str:
        if not self._total.rows:
            return "xgemm: no products" + ("" if self._cell else "; xgemm-run doctor says why")
        sums = self._sums()
        keys = sorted(sums, key=lambda key: (key[0] == _ELSEWHERE, key))
        saved = [sums[key][3] for key in keys if sums[key][1] > 0]
        cells = []
        for before, (line, name, where) in zip([None, *keys], keys):
            first = line[1] and (before is None or before[0] != line)
            cells.append(_cells(str(line[1]) if first else "", _account.operation(name), where, sums[line, name, where],
                                linecache.getline(*line).strip() if first else ""))
        cells.append(_cells("all", "", "", [self._total.calls, len(saved), self._total.seconds, sum(saved)], ""))
        head, *rows, total = _account.table(_HEAD, _LEFT, cells)
        lines = [str(self._total).split("\n", 1)[0], head]
        for before, key, row in zip([None, *keys], keys, rows):
            if before is None or before[0][0] != key[0][0]:
                lines.append("  " + ("this cell" if key[0][0] == self._cell else key[0][0][2 - _WIDTH :]))
            lines.append(row)
        lines.append(total)
        if saved:
            lines.append("  saved: the seconds predicted for the CPU, minus those that the call took")
        return "\n".join(line[:_WIDTH].rstrip() for line in lines)


# --- A program --------------------------------------------------------------------------------------


def _hide(hook: Callable[..., Any]) -> Callable[..., None]:
    """Returns a sys.excepthook that leaves the frames of this module and of runpy out of the traceback."""
    hidden = __file__, runpy.run_module.__code__.co_filename

    def shown(kind: Type[BaseException], error: BaseException, trace: Optional[types.TracebackType]) -> None:
        while trace and trace.tb_frame.f_code.co_filename in hidden:
            trace = trace.tb_next
        hook(kind, error.with_traceback(trace), trace)

    return shown


def _load(path: str) -> Callable[[], Any]:
    """Returns what runs the script in a module __main__ of its own, as Python does."""
    path = os.path.abspath(os.path.join(path, "__main__.py") if os.path.isdir(path) else path)
    try:
        with io.open_code(path) as file:
            source = file.read()
    except OSError as error:
        print("%s: can't open file %r: %s" % (sys.executable, path, error), file=sys.stderr)
        sys.exit(2)
    if not sys.flags.isolated and not getattr(sys.flags, "safe_path", False):
        sys.path[0] = os.path.dirname(os.path.realpath(path))
    module = types.ModuleType("__main__")
    vars(module).update(__file__=path, __builtins__=builtins)
    sys.modules["__main__"] = module
    return functools.partial(exec, compile(source, path, "exec", dont_inherit=True), vars(module))


def _begin() -> None:
    """Profiles until exit handlers run, for which Python waits for threads. A forked child prints no profile."""
    process = os.getpid()
    lines = Lines()

    def end() -> None:
        if os.getpid() == process:
            lines.stop()
            print(lines, file=sys.stderr)

    atexit.register(end)
    lines.start()


def main() -> None:
    """Runs `SCRIPT ARGUMENT...` or `-m MODULE ARGUMENT...`, and prints the profile to standard error at exit."""
    del sys.argv[0]
    sys.excepthook = _hide(sys.excepthook)
    if sys.argv[0] == "-m":
        del sys.argv[0]
        module = sys.argv[0]
        program: Callable[[], Any] = lambda: runpy.run_module(module, run_name="__main__", alter_sys=True)
    else:
        program = _load(sys.argv[0])
    try:
        _enable.enable(strict=False)
        _begin()
    except RuntimeError as error:
        print("xgemm:", error, file=sys.stderr)
    program()


if __name__ == "__main__":
    from xgemm_shim._lines import main as run  # whose frames are not those of __main__

    run()
