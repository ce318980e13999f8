# SPDX-License-Identifier: MIT
"""Checks and runs the notebook of the ladder: ladder.py NOTEBOOK [DEVICE]

It runs in the current folder. DEVICE: the name of the GPU that it must find; empty: none. Without
DEVICE the notebook is only checked.
"""
import contextlib
import io
import json
import sys

NOTHING = "no GPU: these figures mean nothing"


def judge(notebook):
    """Checks that the notebook is stripped of what it printed."""
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    cells = notebook["cells"]
    assert len({cell["id"] for cell in cells}) == len(cells) > 10
    for cell in cells:
        assert not cell.get("outputs"), "%s: outputs" % cell["id"]
        assert cell.get("execution_count") is None, "%s: it was run" % cell["id"]
        assert cell["cell_type"] == "markdown" or "".join(cell["source"])
    assert set(notebook["metadata"]) == {"kernelspec", "language_info"}


def run(notebook):
    """Runs its cells; returns what they print, and the names that they leave."""
    import matplotlib
    matplotlib.use("agg")
    names, printed = {"__name__": "ladder"}, io.StringIO()
    with contextlib.redirect_stdout(printed):
        for cell in notebook["cells"]:
            if cell["cell_type"] == "code":
                exec(compile("".join(cell["source"]), cell["id"], "exec"), names)
    return printed.getvalue(), names


def check_run(printed, names, device):
    assert printed.count(NOTHING) == 2, printed
    assert (names["device"]["name"] if names["device"] else "") == device, printed
    assert not names["REAL"]
    for rung in names["RUNGS"]:
        rates = names["results"][rung]
        assert sorted(rates) == names["SIZES"] and min(rates.values()) > 0, (rung, rates)
    roofs = names["roofs"]
    assert sorted(roofs) == (["arithmetic", "link", "memory"] if device else []), roofs
    if device:  # 132 multiprocessors of 128 lanes at 1.98 GHz; 5120 bits at 2.619 GHz
        assert abs(roofs["arithmetic"] / 66.9e12 - 1) < 0.01 and abs(roofs["memory"] / 3.352e12 - 1) < 0.01, roofs
        assert 1e8 < roofs["link"] < roofs["memory"], roofs
    axes = names["plt"].gcf().axes[0]
    assert axes.get_title() == NOTHING
    assert {line.get_label() for line in axes.lines} >= set(names["RUNGS"])
    names["plt"].gcf().savefig("ladder.png")


def check_in_jupyter(path):
    """Checks that no cell fails in a kernel, and that one shows a picture."""
    try:
        import ipykernel  # noqa: F401
        import nbclient
        import nbformat
    except ImportError:
        print("no nbclient and ipykernel: the notebook ran only outside of Jupyter")
        return
    notebook = nbformat.read(path, 4)
    nbformat.validate(notebook)
    nbclient.NotebookClient(notebook, timeout=240, kernel_name="python3").execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    assert sum("image/png" in output.get("data", {}) for output in outputs) == 1, outputs
    assert NOTHING in "".join(output.get("text", "") for output in outputs)


def main():
    path = sys.argv[1]
    with open(path, encoding="utf-8") as file:
        notebook = json.load(file)
    judge(notebook)
    for device in sys.argv[2:]:
        check_run(*run(notebook), device)
        if device:
            check_in_jupyter(path)


main()
