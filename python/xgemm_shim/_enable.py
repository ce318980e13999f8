# SPDX-License-Identifier: MIT
"""Loads the library before the BLAS of this process, from inside the process."""
import contextlib
import ctypes
import os
import subprocess
import sys
import warnings
from typing import Iterator, List, Optional, TextIO

from . import _account
from ._account import Stats

_FOLDER = os.path.dirname(os.path.abspath(__file__))

# Packages that call BLAS and bind these calls when they are imported.
_CALLERS = {"numpy": "NumPy", "scipy": "SciPy", "torch": "PyTorch"}


def library() -> str:
    """Returns the path of libxgemm_shim.so, for LD_PRELOAD or the linker; XGEMM_SHIM_LIB overrides it."""
    return os.environ.get("XGEMM_SHIM_LIB") or os.path.join(_FOLDER, "lib", "libxgemm_shim.so")


def launcher() -> str:
    """Returns the path of xgemm-run."""
    return os.path.join(_FOLDER, "bin", "xgemm-run")


# --- Whether it is loaded before the BLAS -----------------------------------------------------------


class _Place(ctypes.Structure):
    """The struct Dl_info of dladdr."""

    _fields_ = [
        ("file", ctypes.c_char_p),
        ("base", ctypes.c_void_p),
        ("symbol", ctypes.c_char_p),
        ("address", ctypes.c_void_p),
    ]


def _defines(name: str) -> str:
    """Returns the file whose function of this name a library loaded now would call; "" if there is none."""
    program = ctypes.CDLL(None)
    place = _Place()
    try:
        function = program[name]
    except AttributeError:
        return ""
    if not program.dladdr(ctypes.cast(function, ctypes.c_void_p), ctypes.byref(place)):
        return ""
    return os.fsdecode(place.file or b"")


def enabled() -> bool:
    """Whether `enable()`, xgemm-run or LD_PRELOAD has loaded the library before the BLAS of later imports.
    `stats()` says where products run."""
    return all(
        os.path.basename(_defines(name)).startswith("libxgemm_shim.so") for name in ("cblas_sgemm", "sgemm_")
    )


def _loaded() -> List[str]:
    return [name for module, name in _CALLERS.items() if sys.modules.get(module) is not None]


# --- For users --------------------------------------------------------------------------------------


def _settings() -> List[List[str]]:
    """Returns the variables that xgemm-run would set, and their values: those that configuration files give and the
    environment does not, and those that shorten the spin of the CPU library's threads."""
    folder = os.path.dirname(os.path.realpath(launcher()))
    for tool in (os.path.join(folder, "xgemm-settings"), os.path.join(folder, "..", "libexec", "xgemm-settings")):
        if os.access(tool, os.X_OK):
            break
    else:
        return []  # as for xgemm-run only the library reads the files
    try:
        done = subprocess.run([tool, "--null"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        warnings.warn("xgemm_shim.enable() cannot read the configuration: %s" % error, RuntimeWarning, 5)
        return []
    return [os.fsdecode(line).split("=", 1) for line in done.stdout.split(b"\0")[:-1]]


def _set_environment(keep_env: bool) -> None:
    if keep_env:
        os.environ.setdefault("XGEMM_SPIN", "keep")
    for name, value in _settings():
        if name.startswith("XGEMM_") or not keep_env:
            os.environ.setdefault(name, value)


def _load(keep_env: bool) -> Optional[str]:
    """Loads the library. Returns the reason why it cannot be before the BLAS, or None."""
    late = _loaded()
    if late:
        return (
            "xgemm_shim.enable() comes too late: %s already loaded, with calls bound to another BLAS. Call it "
            "before the first import of NumPy, SciPy or PyTorch (in a notebook restart the kernel and begin "
            "with it), or start the program with xgemm-run."
        ) % (" and ".join(late) + (" is" if len(late) == 1 else " are"))
    other = _defines("cblas_sgemm") or _defines("sgemm_")
    if other:
        return (
            "xgemm_shim.enable() comes too late: %s precedes all libraries that are loaded later. "
            "Start the program with xgemm-run." % other
        )
    _set_environment(keep_env)
    ctypes.CDLL(library(), ctypes.RTLD_GLOBAL)
    return None


def enable(*, strict: bool = True, keep_env: bool = False) -> bool:
    """Loads the library before the BLAS of NumPy, SciPy, PyTorch and others, which must not be loaded yet.
    Returns True if the library is loaded before them. A second call has no effect.

    It sets the variables of xgemm-run in `os.environ`, if they are not set: the settings of configuration files, and
    OPENBLAS_THREAD_TIMEOUT and GOMP_SPINCOUNT, if the threads of the CPU library should sleep sooner after a product
    on this machine (XGEMM_SPIN=keep: neither). The library reads its settings
    (XGEMM_MODE and so on) at the first product. From then on it counts products in the process's memory for
    `stats()`. Child processes other than forks must call it themselves.

    strict: raises RuntimeError if it is too late; False: warns (RuntimeWarning), loads nothing, and returns
    False.
    keep_env: does not change the spin of the CPU library's threads, as xgemm-run --keep-env.

    Raises OSError if the library cannot be loaded.
    """
    if not enabled():
        problem = _load(keep_env)
        if problem and strict:
            raise RuntimeError(problem)
        if problem:
            warnings.warn(problem, RuntimeWarning, 2)
            return False
    _account.keep()
    return True


def stats() -> Stats:
    """Returns the products of this process so far. A child of fork counts from zero.

    Raises RuntimeError if the library is not loaded before the BLAS, or keeps no account. Under xgemm-run or
    LD_PRELOAD it keeps one if `enable()` is called before the first product.
    """
    try:
        result = _account.read()
    except AttributeError as error:
        if enabled():
            raise RuntimeError("xgemm_shim and libxgemm_shim.so are of different releases: %s" % error) from None
        result = None
    if result is None and not enabled():
        raise RuntimeError("xgemm_shim is not enabled: call xgemm_shim.enable() before NumPy is imported")
    if result is None:
        raise RuntimeError("no account is kept: call xgemm_shim.enable() before the first product")
    return result


def report(file: Optional[TextIO] = None) -> None:
    """Prints `stats()` as a table to the file, or to standard output."""
    print(stats(), file=file)


@contextlib.contextmanager
def profile() -> Iterator[Stats]:
    """A `with` block that counts the products of all threads of the process. The result is filled in when the
    block ends, also by an exception."""
    before = stats()
    block = Stats()
    try:
        yield block
    finally:
        vars(block).update(vars(stats() - before))
