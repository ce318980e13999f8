# SPDX-License-Identifier: MIT
"""Reads the account that the library keeps of this process's products, in the process's memory (shim/packages.c).

The layout is that of struct xg_account (src/report/account.h); parse() checks its magic and version.
"""
import contextlib
import ctypes
import dataclasses
import re
import struct
from typing import Any, Dict, Iterable, List, NamedTuple, Optional, Tuple, TypeVar

_MAGIC = b"xgacct\n\0"
_VERSION = 6
_HEAD = struct.Struct("=8sIIqq64siiqdqqqqdd")
_ROW = struct.Struct("=40sIIqdddd")
_SHAPE = struct.Struct("=40s40sqqqIBBBBqdd")
_ROWS = 256
_SHAPES = 1024
_BYTES = _HEAD.size + _ROWS * _ROW.size + _SHAPES * _SHAPE.size

_NO_SOLVER = "no cuSOLVER here"
# enum xg_place, enum xg_reason and enum xg_trans, by number (src/base/xg.c).
PLACES = ("CPU", "GPU", "both")
_REASONS = (
    "XGEMM_MODE",
    "too small",
    "cost model",
    "products around it",
    "trial",
    "GPU start-up not earned yet",
    "GPU starting",
    "GPU busy",
    "does not fit device memory",
    "forked child",
    "no usable GPU",
    "GPU failed",
    "thread has little stack",
    "GPU's result was wrong",
    "nothing to multiply",
    "C overlaps A or B",
    "computed in place",
    "XGEMM_OPERATIONS",
    "no kernel for it",
    "no usable GPU: no driver",
    "no usable GPU: no device",
    "no usable GPU: not allowed",
    "cuSOLVER declines",
    _NO_SOLVER,
)
_TRANS = "NTC"

_OPERATION = re.compile(r"[sdcz](?:ge|sy|he|tr)(?:mmt?|r2k|rk|sm)(?:_batch(?:_strided)?)?")

_SHAPES_PRINTED = 20


def operation(name: str) -> str:
    """Returns the operation of the called function; see Row.operation."""
    found = _OPERATION.search(name)
    return found.group() if found else re.sub("^scipy_", "", name).split("_")[0]


class Row(NamedTuple):
    """Calls of one function that ran on one side for one reason."""

    where: str  #: "CPU", "GPU", or "both" (compared, or completed by the CPU)
    why: str  #: the reason, as XGEMM_STATS=1 prints it, such as "cost model"
    name: str  #: the called function, such as "cblas_sgemm"
    calls: int
    flops: float  #: floating-point operations
    bytes: float  #: bytes copied to and from the GPU
    seconds: float  #: wall time in seconds, summed over threads
    waited: float  #: the part of these seconds in which threads waited for the GPU

    @property
    def operation(self) -> str:
        """The operation, as XGEMM_OPERATIONS names it.

        >>> Row("CPU", "too small", "scipy_cblas_dsyrk64_", 1, 1.0, 0.0, 1.0, 0.0).operation
        'dsyrk'

        Of a LAPACK routine it is the name without the spelling.

        >>> Row("GPU", "cost model", "scipy_dgesv_64_", 1, 1.0, 0.0, 1.0, 0.0).operation
        'dgesv'
        """
        return operation(self.name)


class Shape(NamedTuple):
    """Calls of one function and shape that ran on one side in one kernel."""

    name: str  #: the called function, such as "cblas_sgemm"
    m: int  #: rows of C, in row-major order
    n: int  #: columns of C
    k: int  #: the dimension of the sums
    transa: str  #: "N", "T" or "C"
    transb: str
    beta_zero: bool  #: whether beta was 0, so that C was only written
    where: str  #: "CPU", "GPU" or "both"
    kernel: str  #: the kernel on the GPU; empty on the CPU
    calls: int
    flops: float  #: floating-point operations
    seconds: float  #: wall time in seconds, summed over threads


_Sums = TypeVar("_Sums", Row, Shape)


def _difference(after: Iterable[_Sums], before: Iterable[_Sums], sums: Tuple[str, ...]) -> List[_Sums]:
    """Returns the entries of `after` with more calls than in `before`, minus the named sums of `before`."""

    def key(entry: _Sums) -> Tuple[Any, ...]:
        return tuple(value for field, value in zip(entry._fields, entry) if field not in sums)

    known = {key(entry): entry for entry in before}
    result = []
    for entry in after:
        old = known.get(key(entry))
        if old is not None:
            entry = entry._replace(**{field: getattr(entry, field) - getattr(old, field) for field in sums})
        if entry.calls > 0:
            result.append(entry)
    return result


def _rate(flops: float, seconds: float) -> float:
    return flops / seconds * 1e-9 if seconds > 0 else 0.0


def table(head: Tuple[str, ...], left: Tuple[str, ...], rows: List[Tuple[str, ...]]) -> List[str]:
    """Returns lines of columns as wide as their longest cells; columns in `left` are left-aligned."""
    widths = [max(map(len, column)) for column in zip(head, *rows)]
    return [
        "  " + " ".join(
            cell.ljust(width) if name in left else cell.rjust(width)
            for name, cell, width in zip(head, row, widths)
        )
        for row in (head, *rows)
    ]


@dataclasses.dataclass
class Stats:
    """Products by side and reason, and by shape. `str()` makes a table. The later of two minus the earlier
    gives the products between them.

    >>> early = Stats([Row("CPU", "too small", "cblas_sgemm", 2, 4e6, 0.0, 0.25, 0.0)])
    >>> late = Stats([Row("CPU", "too small", "cblas_sgemm", 3, 6e6, 0.0, 0.75, 0.0),
    ...               Row("GPU", "cost model", "cblas_dgemm", 1, 2e9, 1e6, 0.5, 0.0)])
    >>> between = late - early
    >>> between.calls, between.gpu_calls, between.seconds
    (2, 1, 1.0)
    >>> [(row.where, row.why, row.calls) for row in between.rows]
    [('CPU', 'too small', 1), ('GPU', 'cost model', 1)]
    """

    rows: List[Row] = dataclasses.field(default_factory=list)
    shapes: List[Shape] = dataclasses.field(default_factory=list)
    shapes_dropped: int = 0  #: calls in `rows` for which `shapes` had no space
    verified: int = 0  #: verified products (XGEMM_VERIFY)
    wrong: int = 0  #: verified products that were wrong and that the CPU recomputed
    unverified: int = 0  #: products that could not be verified
    held_bytes: float = 0.0  #: bytes of operands that were not copied, because they were on the GPU, unchanged
    pid: int = 0  #: the process; 0 before its first product

    @property
    def calls(self) -> int:
        """All calls."""
        return sum(row.calls for row in self.rows)

    @property
    def gpu_calls(self) -> int:
        """Calls that ran on the GPU or on both sides."""
        return sum(row.calls for row in self.rows if row.where != "CPU")

    @property
    def cpu_calls(self) -> int:
        """Calls that ran only on the CPU."""
        return self.calls - self.gpu_calls

    @property
    def flops(self) -> float:
        """Floating-point operations."""
        return sum(row.flops for row in self.rows)

    @property
    def bytes(self) -> float:
        """Bytes copied to and from the GPU."""
        return sum(row.bytes for row in self.rows)

    @property
    def seconds(self) -> float:
        """Wall time in seconds, summed over threads."""
        return sum(row.seconds for row in self.rows)

    def as_dict(self) -> Dict[str, Any]:
        """Returns the data as dicts, lists, strings and numbers for json.dump, in the units above.

        >>> Stats([Row("CPU", "too small", "cblas_sgemm", 2, 4e6, 0.0, 0.25, 0.0)]).as_dict()["rows"][0]["why"]
        'too small'
        """
        result = dict(vars(self))
        for name in ("calls", "gpu_calls", "cpu_calls", "flops", "bytes", "seconds"):
            result[name] = getattr(self, name)
        result["rows"] = [row._asdict() for row in self.rows]
        result["shapes"] = [shape._asdict() for shape in self.shapes]
        return result

    def __sub__(self, before: "Stats") -> "Stats":
        # A child of fork counts from zero.
        if self.pid != before.pid:
            before = Stats()
        return Stats(
            _difference(self.rows, before.rows, ("calls", "flops", "bytes", "seconds", "waited")),
            _difference(self.shapes, before.shapes, ("calls", "flops", "seconds")),
            self.shapes_dropped - before.shapes_dropped,
            self.verified - before.verified,
            self.wrong - before.wrong,
            self.unverified - before.unverified,
            self.held_bytes - before.held_bytes,
            self.pid,
        )

    def __str__(self) -> str:
        """The table of XGEMM_STATS=1 (src/report/account.c)."""
        if not self.rows:
            return "xgemm: no products" + ("" if self.pid else " so far, or no account of them is kept")
        lines = [
            "xgemm: %d products, %.3f GFLOP in %.3f s; %d on the GPU, %d on the CPU"
            % (self.calls, self.flops * 1e-9, self.seconds, self.gpu_calls, self.cpu_calls),
        ]
        lines += table(
            ("where", "why", "name", "operation", "calls", "GFLOP", "GB", "seconds", "GFLOP/s"),
            ("where", "why", "name", "operation"),
            [
                (row.where, row.why, row.name, row.operation, str(row.calls), "%.3f" % (row.flops * 1e-9),
                 "%.3f" % (row.bytes * 1e-9), "%.4f" % row.seconds, "%.1f" % _rate(row.flops, row.seconds))
                for row in self.rows
            ],
        )
        lines += self._shape_lines()
        if self.held_bytes:
            lines.append("  operands that stayed on the GPU, unchanged: %.3f GB not sent" % (self.held_bytes * 1e-9))
        if any(row.why == _NO_SOLVER for row in self.rows):
            lines.append("  %s: pip install 'xgemm-shim[lapack]'" % _NO_SOLVER)
        if self.verified or self.unverified:
            lines.append(
                "  verified: %d calls; wrong, and computed again by the CPU: %d; could not be verified: %d"
                % (self.verified, self.wrong, self.unverified)
            )
        return "\n".join(lines)

    def _shape_lines(self) -> List[str]:
        longest = sorted(self.shapes, key=lambda shape: -shape.seconds)[:_SHAPES_PRINTED]
        lines = ["  shapes that took longest, of %d (row-major)" % len(self.shapes)]
        lines += table(
            ("name", "m", "n", "k", "trans", "beta", "where", "kernel", "calls", "mean ms", "GFLOP/s"),
            ("name", "where", "kernel"),
            [
                (shape.name, str(shape.m), str(shape.n), str(shape.k),
                 shape.transa + shape.transb if _OPERATION.search(shape.name) else "-",
                 "-" if not _OPERATION.search(shape.name) else "0" if shape.beta_zero else "any",
                 shape.where, shape.kernel or "-", str(shape.calls),
                 "%.4f" % (1e3 * shape.seconds / shape.calls), "%.1f" % _rate(shape.flops, shape.seconds))
                for shape in longest
            ],
        )
        if self.shapes_dropped:
            lines.append("  and %d products of shapes that found the table full" % self.shapes_dropped)
        return lines


def text(field: bytes) -> str:
    return field.split(b"\0", 1)[0].decode("ascii", "replace")


def word(words: Iterable[str], number: int) -> str:
    known = tuple(words)
    return known[number] if number < len(known) else "unknown"


def parse(content: bytes) -> Stats:
    """Returns the account in these bytes. Raises ValueError if they are not an account of this
    package's version."""
    if len(content) < 12 or not content.startswith(_MAGIC):
        raise ValueError("this is not an account of libxgemm_shim")
    version = struct.unpack_from("=I", content, 8)[0]
    if version != _VERSION:
        raise ValueError(
            "the account has version %d, but xgemm_shim reads version %d: the package xgemm_shim and "
            "libxgemm_shim.so are of different releases" % (version, _VERSION)
        )
    if len(content) != _BYTES:
        raise ValueError("an account has %d bytes, but this one has %d" % (_BYTES, len(content)))
    head = _HEAD.unpack_from(content)
    _, _, size, pid, _, _, row_count, _, dropped, _, right, wrong, unable, _, _, held_bytes = head
    if size != _BYTES or not 0 <= row_count <= _ROWS:
        raise ValueError("the account is damaged")

    stats = Stats(pid=pid, shapes_dropped=dropped, verified=right + wrong, wrong=wrong, unverified=unable,
                  held_bytes=held_bytes)
    rows = content[_HEAD.size : _HEAD.size + row_count * _ROW.size]
    for name, place, reason, *sums in _ROW.iter_unpack(rows):
        stats.rows.append(Row(word(PLACES, place), word(_REASONS, reason), text(name), *sums))
    shapes = content[_HEAD.size + _ROWS * _ROW.size :]
    for name, kernel, m, n, k, place, transa, transb, beta_zero, _, *sums in _SHAPE.iter_unpack(shapes):
        if sums[0]:
            stats.shapes.append(
                Shape(text(name), m, n, k, word(_TRANS, transa), word(_TRANS, transb), bool(beta_zero),
                      word(PLACES, place), text(kernel), *sums)
            )
    return stats


def keep() -> None:
    """Makes the library count the products of this process, from its first product on."""
    with contextlib.suppress(AttributeError):  # the library is of another release; stats() says so
        ctypes.CDLL(None).xgemm_account_keep()


def read() -> Optional[Stats]:
    """Returns the current account of this process, empty before its first product; None if none is kept.
    All interpreters of the process share it. Raises AttributeError if the library is not loaded or is of
    another release."""
    function = ctypes.CDLL(None).xgemm_account_read
    function.restype, function.argtypes = ctypes.c_size_t, (ctypes.c_void_p, ctypes.c_size_t)
    content = ctypes.create_string_buffer(_BYTES)
    size = function(content, _BYTES)
    return parse(content.raw[:size]) if size else None


def thread_sums() -> int:
    """Returns the address of this thread's sums (src/report/thread_sums.h), which count from now on."""
    try:
        function = ctypes.CDLL(None).xgemm_account_thread
    except AttributeError as error:
        raise RuntimeError("xgemm_shim and libxgemm_shim.so are of different releases: %s" % error) from None
    function.restype, function.argtypes = ctypes.c_void_p, ()
    address: Optional[int] = function()
    if not address:
        raise MemoryError
    return address
