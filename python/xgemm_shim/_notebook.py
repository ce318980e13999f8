# SPDX-License-Identifier: MIT
"""Implements %load_ext xgemm_shim and the cell magic %%xgemm."""
import ast
import contextlib
import io
import tokenize
import warnings
from typing import Any, Iterator

from ._enable import enable, enabled, profile, stats

_AFTER_CODE = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.ENDMARKER)


def _is_silenced(source: str) -> bool:
    """Whether the last token is a semicolon, with which IPython shows no value."""
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    code = [token.string for token in tokens if token.type not in _AFTER_CODE]
    return code[-1:] == [";"]


@contextlib.contextmanager
def _profile(name: str) -> Iterator[None]:
    from ._lines import Lines  # not with the package: `python -m xgemm_shim._lines` runs that module

    lines = Lines(name)
    lines.start()
    try:
        yield
    finally:
        lines.stop()
        print(lines)


def _execute(shell: Any, cell: str, by_line: bool = False) -> Any:
    """Runs the cell in the user's namespace. Returns the value of a last expression if IPython would show it. by_line:
    prints a profile by line."""
    source = shell.transform_cell(cell)
    name = shell.compile.cache(source)
    with _profile(name) if by_line else contextlib.nullcontext():
        return _run(shell, source, name)


def _run(shell: Any, source: str, name: str) -> Any:
    tree = shell.transform_ast(shell.compile.ast_parse(source, filename=name))
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(shell.compile(tree, name, "exec"), shell.user_ns)
    if last is None:
        return None
    value = eval(shell.compile(ast.Expression(last.value), name, "eval"), shell.user_ns)
    return None if _is_silenced(source) else value


def load_ipython_extension(ipython: Any) -> None:
    """%load_ext xgemm_shim: calls `enable()`, which warns if it is too late, and registers %%xgemm."""

    def xgemm(line: str, cell: str) -> Any:
        """%%xgemm: runs the cell, and prints where its products ran, and why; %%xgemm -l: which lines made them."""
        if line.strip() not in ("", "-l"):
            raise ValueError("%%xgemm takes no argument but -l: " + line.strip())
        if not enabled():
            print("xgemm: not enabled; restart the kernel, and begin with %load_ext xgemm_shim")
            return _execute(ipython, cell)
        try:
            stats()
        except RuntimeError as error:
            print("xgemm:", error)
            return _execute(ipython, cell)
        if line.strip():
            return _execute(ipython, cell, by_line=True)
        block = None
        try:
            with profile() as block:
                return _execute(ipython, cell)
        finally:
            print(block)

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        enable(strict=False)
    ipython.register_magic_function(xgemm, "cell", "xgemm")


def unload_ipython_extension(ipython: Any) -> None:
    """%unload_ext xgemm_shim: removes %%xgemm. The library stays loaded."""
    ipython.magics_manager.magics["cell"].pop("xgemm", None)
