# SPDX-License-Identifier: MIT
"""Puts the library in front of the BLAS of this process, from inside it."""
import atexit
import contextlib
import ctypes
import os
import shutil
import sys
import tempfile
import warnings
from typing import Iterator, List, Optional, TextIO

from . import _account
from ._account import Stats

_FOLDER = os.path.dirname(os.path.abspath(__file__))

# What calls BLAS, and binds these calls when it is imported.
_CALLERS = {"numpy": "NumPy", "scipy": "SciPy", "torch": "PyTorch"}

# As xgemm-run sets them (tools/xgemm-run.in).
_SHORT_SPINS = {"OPENBLAS_THREAD_TIMEOUT": "20", "GOMP_SPINCOUNT": "10000"}

_ACCOUNTS = "xgemm-python-"
_ROOM_BYTES = 64 << 20


def library() -> str:
    """The path of libxgemm_shim.so, for LD_PRELOAD or the linker; XGEMM_SHIM_LIB names another one."""
    return os.environ.get("XGEMM_SHIM_LIB") or os.path.join(_FOLDER, "lib", "libxgemm_shim.so")


def launcher() -> str:
    """The path of xgemm-run."""
    return os.path.join(_FOLDER, "bin", "xgemm-run")


# --- Whether it is in front -------------------------------------------------------------------------


class _Place(ctypes.Structure):
    """Dl_info of dladdr."""

    _fields_ = [
        ("file", ctypes.c_char_p),
        ("base", ctypes.c_void_p),
        ("symbol", ctypes.c_char_p),
        ("address", ctypes.c_void_p),
    ]


def _defines(name: str) -> str:
    """The file whose function of this name a library that is loaded now would call; "": none."""
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
    """Whether the library is in front of the BLAS of what is imported from now on: by `enable()`, by
    xgemm-run, or by LD_PRELOAD. Where products run then is another question, which `stats()` answers."""
    return all(
        os.path.basename(_defines(name)).startswith("libxgemm_shim.so") for name in ("cblas_sgemm", "sgemm_")
    )


def _loaded() -> List[str]:
    return [name for module, name in _CALLERS.items() if sys.modules.get(module) is not None]


# --- The account ------------------------------------------------------------------------------------


def _is_alive(pid: str) -> bool:
    """False for a zombie, which has ended and which nothing has waited for yet."""
    try:
        with open("/proc/%s/stat" % pid, "rb") as file:
            return file.read().rpartition(b")")[2].split()[0] not in (b"Z", b"X")
    except OSError:
        return False


def _remove_accounts(folder: str, owner: int) -> None:
    """Removes this process's account, and with the process that made the folder all that no process
    writes to any longer."""
    mine = str(os.getpid())
    last = int(mine) == owner or not _is_alive(str(owner))
    with contextlib.suppress(OSError):
        for name in os.listdir(folder):
            pid = name.split(".")[0]
            if pid == mine or (last and not _is_alive(pid)):
                os.unlink(os.path.join(folder, name))
        if last:
            os.rmdir(folder)


def _in_memory() -> Optional[str]:
    """A folder in memory with room; None where TMPDIR says where temporary files go, or there is none."""
    with contextlib.suppress(OSError):
        if not os.environ.get("TMPDIR") and shutil.disk_usage("/dev/shm").free >= _ROOM_BYTES:
            return "/dev/shm" if os.access("/dev/shm", os.W_OK | os.X_OK) else None
    return None


_own_folder: Optional[str] = None


def _keep_account() -> None:
    """Has the library keep an account, where the user has named no folder for that."""
    global _own_folder
    given = os.environ.get("XGEMM_ACCOUNT")
    # A parent's folder goes when the parent ends.
    if given and (given == _own_folder or not os.path.basename(given).startswith(_ACCOUNTS)):
        return
    try:
        _own_folder = tempfile.mkdtemp(prefix=_ACCOUNTS, dir=_in_memory())
    except OSError as error:
        warnings.warn("xgemm_shim: no stats(), for no folder can be made for them: %s" % error, RuntimeWarning, 3)
        return
    os.environ["XGEMM_ACCOUNT"] = _own_folder
    atexit.register(_remove_accounts, _own_folder, os.getpid())


# --- For users --------------------------------------------------------------------------------------


def _set_environment(keep_env: bool) -> None:
    if keep_env:
        os.environ.setdefault("XGEMM_SPIN", "keep")
        return
    kept = {
        "OPENBLAS_THREAD_TIMEOUT": os.environ.get("XGEMM_SPIN") == "keep",
        "GOMP_SPINCOUNT": "OMP_WAIT_POLICY" in os.environ,
    }
    for name, value in _SHORT_SPINS.items():
        if not kept[name]:
            os.environ.setdefault(name, value)


def _load(keep_env: bool) -> Optional[str]:
    """Loads the library; what keeps it from being in front, or None."""
    late = _loaded()
    if late:
        return (
            "xgemm_shim.enable() comes too late: %s loaded already, with calls bound to another BLAS. Call it "
            "before the first import of NumPy, SciPy or PyTorch (in a notebook restart the kernel and begin "
            "with it), or start the program by xgemm-run."
        ) % (" and ".join(late) + (" is" if len(late) == 1 else " are"))
    other = _defines("cblas_sgemm") or _defines("sgemm_")
    if other:
        return (
            "xgemm_shim.enable() comes too late: %s is in front of all libraries that are loaded from now on. "
            "Start the program by xgemm-run." % other
        )
    _set_environment(keep_env)
    ctypes.CDLL(library(), ctypes.RTLD_GLOBAL)
    return None


def enable(*, strict: bool = True, keep_env: bool = False) -> bool:
    """Puts the library in front of the BLAS of NumPy, SciPy, PyTorch and others, which must not be loaded
    yet. True: it is in front. Calling it again does nothing.

    It sets in `os.environ` what xgemm-run sets, where it is not set: OPENBLAS_THREAD_TIMEOUT=20 and
    GOMP_SPINCOUNT=10000, which let the threads of the CPU library sleep about 0.5 ms after a product (the first
    not with XGEMM_SPIN=keep); and XGEMM_ACCOUNT, a temporary folder for `stats()`. The library's own settings
    (XGEMM_MODE and so on) are read at the first product, from the environment and configuration files. Processes that this one starts, but for forks, are not enabled by it.

    strict: raise RuntimeError where it is too late; False: warn (RuntimeWarning), load nothing, and return
    False.
    keep_env: leave the CPU library's threads alone, as xgemm-run --keep-env does.

    OSError: the library cannot be loaded.
    """
    if not enabled():
        problem = _load(keep_env)
        if problem and strict:
            raise RuntimeError(problem)
        if problem:
            warnings.warn(problem, RuntimeWarning, 2)
            return False
    _keep_account()
    return True


def stats() -> Stats:
    """What this process has multiplied so far. A child of fork begins anew.

    RuntimeError: the library is not in front, or keeps no account. Under xgemm-run or LD_PRELOAD it keeps
    one from `enable()` on, if that comes before the first product.
    """
    result = _account.read()
    if not result.pid and not enabled():
        raise RuntimeError("xgemm_shim is not enabled: call xgemm_shim.enable() before NumPy is imported")
    folder = os.environ.get("XGEMM_ACCOUNT")
    if not result.pid and not folder:
        raise RuntimeError("no account is kept: call xgemm_shim.enable() before the first product")
    if not result.pid and not os.path.isdir(folder or ""):
        raise RuntimeError("no account is kept: there is no folder %s (XGEMM_ACCOUNT)" % folder)
    return result


def report(file: Optional[TextIO] = None) -> None:
    """Prints `stats()` as a table to the file, or to standard output."""
    print(stats(), file=file)


@contextlib.contextmanager
def profile() -> Iterator[Stats]:
    """For `with`: what the process multiplies in the block, all threads included, which is filled in when
    the block ends, by an exception too."""
    before = stats()
    block = Stats()
    try:
        yield block
    finally:
        vars(block).update(vars(stats() - before))
