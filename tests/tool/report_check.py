# SPDX-License-Identifier: MIT
"""Checks pages of xgemm-report: usage: report_check.py REPORT SRCDIR [TRACE...]. The figures of a
page must equal sums over traces that are made here, or over those that are given."""
import ast
import json
import math
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

import report_browser
from report_pages import (REPORT, SRCDIR, check, event, failures, folder_of, judge, lines,
                               machine, named, near, of_dgesv, of_zgemm, random_run, report, words)


# --- Tests ------------------------------------------------------------------------------------

def test_sums():
    for processes, threads, products in ((1, 1, 40), (3, 4, 60), (30, 2, 40)):
        what = f"{processes} processes"
        files = random_run(processes, threads, products)
        events = [one for events in files.values() for one in events]
        with folder_of(files) as folder:
            page, _ = report("--command", "./a program", "--status", "0", "--seconds", "9", folder)
            judge(page, events, what)
            check(page.island["processes"] == processes, what)
            check(len(page.rows("data-lane")) == min(24, processes * threads if processes * threads
                                                     <= 24 else processes), what, "lanes")
            # The same in one file that all processes wrote, given by its name.
            whole = os.path.join(folder, "one.json")
            with open(whole, "w", encoding="ascii") as file:
                file.write(lines(events))
            page, _ = report(whole)
            judge(page, events, f"{what} in one file")
    check(not re.search(r"\b(nan|inf|None)\b", page.said, re.IGNORECASE), "nan or None")


def test_words():
    """Numbers in words, and sentences for runs with a known result."""
    for value, text in ((0, "0 s"), (0.9998, "1.00 s"), (0.9994, "999 ms"), (9.996, "10.0 s"),
                        (2700.4, "2,700 s"), (1.5e-7, "150 ns"), (-2e-3, "-2.00 ms"),
                        (123456789, "123,000,000 s"), (1e-9, "1.00 ns"), (1e-13, "0 s")):
        said = words.seconds(value).replace("\u00a0", " ").replace("\u202f", ",")
        check(said == text, value, "s is", said)
    slow = [event(ts=1000.0 * i, dur=900.0, cpu=900.0, gpu=50.0) for i in range(4)]
    fast = [event(ts=1e4 + 1000.0 * i, dur=100.0, place="GPU", kernel="f", cpu=5e5, gpu=50.0)
            for i in range(6)]
    for events, headline, said in (
            (slow + fast, "6 of 10 products ran on the GPU and saved about 4.8\u00a0ms",
             "For 6 of the products on the GPU the CPU\u2019s time is measured, which is all"),
            (fast[:1], "The one product ran on the GPU and saved about 500\u00a0ms", "prediction"),
            (slow, "All 4 products ran on the CPU", "1 thread computed 4 products"),
            ([event(dur=9e5, place="GPU", kernel="f", cpu=1e5) for _ in range(2)],
             "All 2 products ran on the GPU and lost about 1.6\u00a0s",
             "By this prediction they lost 1.60\u00a0s"),
            ([event(dur=1e5, place="GPU", kernel="f", cpu=1.01e5) for _ in range(2)],
             "All 2 products ran on the GPU, in about the time that the CPU would have taken", ""),
            ([event(dur=1e5, place="GPU", kernel="f")], "The one product ran on the GPU",
             "does not say what the CPU would have taken"),
            ([event(place="both", kernel="f", reason="XGEMM_MODE")] * 2,
             "2 products ran on both sides for comparison", ""),
            ([event(pid, pid, 0.0, 1e5, place="GPU", kernel="f", cpu=3e5) for pid in (8, 9)],
             "All 2 products ran on the GPU and saved about 400\u00a0ms in its 2 threads together",
             "summed over threads")):
        with folder_of({"a.json": events}) as folder:
            page, printed = report(folder)
            check(page.island["headline"] == headline and headline in page.said and
                  " ".join(headline.split()) in printed, headline, "and not",
                  page.island["headline"], printed)
            check(said in page.said, headline, "does not say", said)


HINTS = (
    ("no-gpu", [event(reason="no usable GPU")], {}, []),
    ("mode", [event(reason="XGEMM_MODE")], {"mode": "cpu"}, []),
    ("compare", [event(place="both", kernel="f", reason="XGEMM_MODE")], {"mode": "compare"}, []),
    ("failed", [event(place="both", kernel="f", reason="GPU failed")], {}, []),
    ("wrong", [event(reason="GPU's result was wrong", kernel="f")], {}, []),
    ("start", [event(reason="GPU start-up not earned yet", dur=9e5, cpu=9e5, gpu=1e3)], {}, []),
    ("spin", [event(dur=9e5)], {}, []),
    ("small", [event(m=8, n=8, k=8, reason="too small")] * 200, {}, []),
    ("busy", [event(reason="GPU busy", dur=9e5, gpu=1e3)], {}, []),
    ("memory", [event(reason="does not fit device memory")], {}, []),
    ("forked", [event(reason="forked child")], {}, []),
    ("stack", [event(reason="thread has little stack")], {}, []),
    ("overlap", [event(reason="C overlaps A or B")], {}, []),
    ("slower", [event(place="GPU", kernel="f", dur=9e5, cpu=1e3)], {}, []),
    ("calibrate", [event(dur=9e5, cpu=1e3)], {}, []),
    ("thin", [event(dur=9e5, gpu=2e6)], {}, []),
    ("elsewhere", [event(dur=100.0)], {}, ["--seconds", "10"]),
    ("none-seen", [], {}, []))


def test_hints():
    quiet = [event(place="GPU", kernel="f", dur=100.0, cpu=9000.0, gpu=100.0)]
    for name, events, figures, arguments in [("", quiet, {"spin_us": 500.0}, [])] + list(HINTS):
        with folder_of({"a.json": [machine(**figures)] + events}) as folder:
            page, _ = report(*arguments, folder)
            hints = [row["data-hint"] for row in page.rows("data-hint")]
            check(hints == page.island["hints"], "hints of page and island")
            check(name in hints if name else not hints, "hint", name, "and not", hints)
    # Threads that do not spin give no hint.
    with folder_of({"a.json": [machine(spin_us=500.0, calibrated=True)] + HINTS[6][1]}) as folder:
        page, _ = report(folder)
        check("spin" not in page.island["hints"], "threads that sleep are said to spin")


def test_operations():
    """The CPU time of one operation does not count for another one, nor rates of floats for
    doubles."""
    shape = {"m": 512, "n": 512, "k": 512}
    events = ([event(dur=900.0, **shape) for _ in range(5)] +
              [event(dur=100.0, place="GPU", kernel="cublas", **shape, **of_zgemm(**shape))] * 2)
    for known in (False, True):
        if known:
            events += [event(dur=5000.0, **shape, **of_zgemm(**shape)) for _ in range(3)]
        with folder_of({"a.json": [machine()] + events}) as folder:
            page, _ = report(folder)
            near(page.island["saved_measured_seconds"], 2 * 4900e-6 if known else 0.0, known)
            check([row["data-operation"] for row in page.rows("data-shape")] ==
                  (["zgemm", "sgemm", "zgemm"] if known else ["sgemm", "zgemm"]), "rows", known)
            check("zgemm" in page.said, "the operation is not named")
            check(f"{1 + known} shape" in page.said and "the rates are those of floats" in page.said,
                  "what the roofline lacks")
            drawn = [attributes["class"] for _, attributes in page.elements
                     if "mark" in attributes.get("class", "").split()]
            check(len(drawn) == 1, "marks", drawn)
            check(re.findall(r'class="number"[^>]*>(\d+)<', page.source) == [str(1 + known)],
                  "its number is not the table's")
    with folder_of({"a.json": [machine()] + events[:5]}) as folder:
        check("sgemm" not in report(folder)[0].said, "sgemm alone is named")


def test_routines():
    """A LAPACK routine has a name and no transposes; a dimension that it lacks is not shown."""
    events = [event(dur=900.0, place="GPU", m=500, n=500, k=k, **of_dgesv(500, k)) for k in (7, 0)]
    with folder_of({"a.json": [machine()] + events}) as folder:
        page, _ = report(folder)
        check([row["data-operation"] for row in page.rows("data-shape")] == ["dgesv"] * 2, "rows")
        check("500\u2009\u00d7\u2009500\u2009\u00d7\u20097<" in page.source, "with right-hand sides")
        check("500\u2009\u00d7\u2009500<" in page.source, "without")


def test_roofline():
    """The roofline explains exactly the lines that it draws."""
    some = [event(place="GPU", kernel="f"), event(m=4096, n=4096, k=4096, place="GPU", kernel="f")]
    for name, words, figures in (("fp32-roof", "dotted", {"gpu_fp32_flops_per_s": 2e14}),
                                 ("cpu-roof", "dashed", {"cpu_flops_per_s": None})):
        for drawn, changed in ((True, {}), (False, figures)):
            with folder_of({"a.json": [machine(**changed)] + some}) as folder:
                page, _ = report(folder)
                lines = [one for tag, one in page.elements
                         if tag == "line" and name in one.get("class", "")]
                check(bool(lines) == drawn == (words in page.said), name, changed)


def test_reasons():
    """The page has words for every reason of the library."""
    with open(os.path.join(SRCDIR, "src/base/xg.c"), encoding="utf-8") as file:
        reasons = re.findall(r'\[XG_REASON_\w+\] = "([^"]+)"', file.read())
    with open(os.path.join(SRCDIR, "tools/report/words.py"), encoding="utf-8") as file:
        text = file.read()
    check(len(reasons) > 10, "no reasons in src/base/xg.c")
    for reason in reasons:
        check(f'"{reason}":' in text, "no words for", reason)


def test_killed():
    """A file that is cut anywhere gives the products of its whole lines."""
    events = random_run(1, 1, 12)["100.json"]
    text = lines(events)
    for at in sorted(random.Random(2).sample(range(len(text)), 24)) + [0, 1, 2, len(text) - 2]:
        with folder_of({"a.json": text[:at]}) as folder:
            page, _ = report("--status", "137", folder)
            # Only the comma and the line's end may be missing.
            whole = [line for line in text[:at].split("\n") if line.rstrip(",").endswith("}}")]
            products = sum('"ph":"X"' in line for line in whole)
            check(page.island["products"] == products, "cut at", at, page.island["products"])
            left = text[:at].split("\n")[-1]
            cut = left not in ("", "[") and not left.rstrip(",").endswith("}}")
            check(page.island["cut"] == cut, "cut at", at, "is not said")
            check(("cut or damaged" in page.said) == cut, "cut at", at, "is not said in words")
            check("SIGKILL" in page.said, "status 137")


def test_empty():
    for what, files in (("folder", {}), ("file", {"a.json": ""}), ("bracket", {"a.json": "[\n"}),
                        ("array", {"a.json": "[]\n"}), ("metadata", {"a.json": [machine()]}),
                        ("noise", {"a.json": bytes(range(256)) * 9}), ("object", {"a.json": "{}"}),
                        ("another file", {"a.txt": [event()]})):
        with folder_of(files) as folder:
            page, _ = report("--command", "./solver -v", folder)
            check("xgemm-run doctor ./solver -v says" in page.said, what, "names another program")
            check(page.island["products"] == 0 and "No matrix product was seen" in page.said, what)
            check(page.island["hints"] == ["none-seen"], what, page.island["hints"])


def test_layouts():
    """The same events in other layouts, as other tools may write them."""
    events = random_run(1, 2, 9)["100.json"]
    for what, text in (("closed", lines(events)[:-2] + "\n]\n"), ("one line", json.dumps(events)),
                       ("indented", json.dumps(events, indent=1)),
                       ("object", json.dumps({"traceEvents": events}, indent=2)),
                       ("bracket in the line", "[" + lines(events)[2:-2] + "]"),
                       ("DOS", lines(events).replace("\n", "\r\n"))):
        with folder_of({"a.json": text}) as folder:
            page, _ = report(folder)
            judge(page, events, what)
            check(page.island["cut"] == 0, what, "something is cut")
    child = [event(4711, 4711), event(4711, 4712)]
    with folder_of({"a.json": events, "a.json.4711": child, "b.json.old": events}) as folder:
        page, _ = report(folder, os.path.join(folder, "a.json"))
        judge(page, events + child, "a child's file, and one that is given twice")


EVIL = ("</script><script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "<!--", "&lt;b&gt;",
        "' onmouseover='x", "\u202egnp.exe", "\x00\x1b[31m\x7f", "\ud800", "]]>", "{{7*7}}",
        "a" * 5000, "--></style><base href=//evil>", "\u2028\u2029", "%s%n", "javascript:alert(1)")


def test_hostile():
    calm, _ = None, None
    with folder_of({"a.json": [machine(), named(7, "x"), event()]}) as folder:
        calm, _ = report("--command", "x", folder)
    allowed = {tag for tag, _ in calm.elements}
    for evil in EVIL:
        events = [named(7, evil), machine(device=evil, cpu_library=evil, mode=evil, math=evil),
                  event(reason=evil, symbol=evil, trans=evil, kernel=evil),
                  event(place="GPU", reason=evil, kernel=evil, cpu=1.0, ts=9.0),
                  event(place=evil), event(m=evil), {"ph": evil}, {"name": evil}, evil, [evil]]
        with folder_of({"a.json": events}) as folder:
            command = evil.replace("\0", "").encode("utf-8", "replace").decode()
            page, _ = report("--command", command, folder)
            check(page.island["products"] == 2, evil[:40], "products", page.island["products"])
            check(page.island["strange"] == 6, evil[:40], "strange", page.island["strange"])
            check(page.size < 40000, evil[:40], "size", page.size)
            judge_elements(page, allowed, evil[:40])
    check("&lt;b&gt;" not in calm.said, "escaped twice")


def judge_elements(page, allowed, what):
    tags = {tag for tag, _ in page.elements}
    check(tags <= allowed | {"circle", "rect", "line"}, what, "elements", tags - allowed)
    check(sum(tag == "script" for tag, _ in page.elements) == 1, what, "scripts")
    for tag, attributes in page.elements:
        for name, value in attributes.items():
            check(not name.startswith("on") and name not in ("src", "href", "srcdoc", "action"),
                  what, tag, name)
            check("url(" not in (value or ""), what, tag, name, value)
    check(not re.search("[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e\u2066-\u2069]", page.said), what,
          "characters that hide others")
    policy = [attributes["content"] for tag, attributes in page.elements
              if attributes.get("http-equiv") == "Content-Security-Policy"]
    check(len(policy) == 1 and "default-src 'none'" in policy[0], what, "policy", policy)


def test_damaged():
    """Whatever bytes change, there is a page, with no more products than before."""
    chance = random.Random(5)
    text = lines(random_run(1, 2, 8)["100.json"]).encode()
    for _ in range(100):
        damaged = bytearray(text)
        for _ in range(chance.randrange(1, 30)):
            at = chance.randrange(len(damaged))
            damaged[at:at + chance.randrange(3)] = bytes([chance.choice((
                chance.randrange(256), *b'{}[]",:0e-.\n'))])
        with folder_of({"a.json": bytes(damaged)}) as folder:
            page, _ = report(folder)
            check(page.island["products"] <= 16, "damaged: products", page.island["products"])


def test_numbers():
    """Values that are no numbers count as strange; extreme numbers do no harm."""
    for key in ("ts", "dur", "pid", "tid"):
        for value in (None, "1", [], {}, True, 10 ** 400, math.nan, math.inf, -math.inf):
            one = event()
            one[key] = value
            with folder_of({"a.json": [one, event()]}) as folder:
                page, _ = report(folder)
                check((page.island["products"], page.island["strange"]) == (1, 1), key, value)
    odd = [event(m=0, n=0, k=0, reason="nothing to multiply", dur=0.0), event(dur=0.0, ts=0.0),
           event(ts=-1e9, dur=1e-9), event(m=1 << 40, n=1 << 40, k=1 << 40, dur=1e15, place="GPU"),
           event(cpu=math.nan, gpu=-1.0), event(up_bytes=-5, down_bytes="x", waited_us=math.inf),
           event(place="GPU", kernel="f", cpu=1e17, gpu=1e17)]
    wild = [machine(up_bytes_per_s=0, down_bytes_per_s=math.nan), machine(gpu_flops_per_s=1e-9),
            machine(cpu_flops_per_s=1e18), machine(spin_us=None), machine(cores="many"), machine()]
    for figures in wild:
        with folder_of({"a.json": [figures] + odd}) as folder:
            page, _ = report(folder)
            check(page.island["products"] == len(odd), "odd products", page.island["products"])
            check(not re.search(r"\b(nan|inf)\b", page.said), "nan or inf on the page")
    for one in odd:
        with folder_of({"a.json": [machine(), one]}) as folder:
            report("--seconds", "1e-9", folder)
            check("inf" not in report("--seconds", "5e-324", folder)[0].said, "an infinite share")
    with folder_of({"a.json": "[" * 100000, "b.json": [event()]}) as folder:
        check(report(folder)[0].island["products"] == 1, "brackets without end")


def test_extremes():
    """Figures at the limits of a double, where quotients overflow and logarithms have no value:
    there is a page, without NaN and infinity in words and drawings."""
    edges = (5e-324, 1e-310, 2.3e-308, 1e-300, 1e-30, 1e-12, 0.0, -0.0, -5e-324, -1e308, 1e18, 1e40, 1e308,
             math.nan, math.inf, "1", None, [], {})
    figures = ("flops", "operand_bytes", "result_bytes", "predicted_cpu_us", "predicted_gpu_us",
               "waited_us", "up_bytes", "down_bytes", "m", "n", "k")
    of_machine = [key for key, value in machine()["args"].items() if isinstance(value, (int, float))]
    for edge in edges:
        cases = [[machine(), {**event(place="GPU", kernel="f", cpu=9.0, gpu=9.0), key: edge}]
                 for key in ("ts", "dur")]
        cases += [[machine(), event(place="GPU", kernel="f", **{key: edge})] for key in figures]
        cases += [[machine(**{key: edge}), event(place="GPU", kernel="f")] for key in of_machine]
        cases += [[machine(), *({**event(place=place), "dur": edge, "ts": ts} for ts in (0.0, edge))]
                  for place in ("GPU", "CPU", "both")]
        for events in cases:
            with folder_of({"a.json": events + [event(reason="GPU busy")]}) as folder:
                page, _ = report(folder)
                check(page.island["products"] >= 1, edge, "products")
                drawn = page.source[page.source.index("<main"):page.source.index("<script")]
                found = re.search(r"[^a-z](nan|inf)[^a-z]|\d{60}", drawn, re.IGNORECASE)
                check(not found, edge, "nan or inf", found and found.group(), events)


def test_size():
    """Thousands of products give a small page, which says how it combined them."""
    files = random_run(1, 3, 250) and random_run(50, 4, 60, seed=3)
    with folder_of(files) as folder:
        page, _ = report(folder)
        check(page.island["products"] == 12000, "products")
        check(page.size < 400000, "size", page.size)
        check("cut into 500 bins" in page.said and "200 threads" in page.said, "bins are not said")
        check(page.island["timeline"] == {"single": False, "lanes": 24}, "lanes")
        check("27 further processes" in page.said, "further processes")
    with folder_of({"a.json": [event(ts=200.0 * i) for i in range(500)]}) as folder:
        page, _ = report(folder)
        check("Each bar is a product" in page.said, "products are not said")
        bars = [attributes for tag, attributes in page.elements
                if tag == "rect" and attributes.get("class") == "cpu" and "x" in attributes]
        check(len(bars) == 500, "bars", len(bars))


def test_refused():
    with folder_of({"a.json": [event()]}) as folder:
        for arguments, status in ((["/nonexistent/a.json"], 1), ([os.devnull], 1), ([], 2),
                                  (["--seconds", "0", folder], 2), (["--status", "x", folder], 2),
                                  (["--seconds", "nan", folder], 2)):
            page, said = report(*arguments, status=status)
            check(page is None and "xgemm-report: " in said, arguments, said)
        done = subprocess.run([sys.executable, REPORT, "-o", "/nonexistent/page.html", folder],
                              stderr=subprocess.PIPE, check=False)
        check(done.returncode == 1 and b"/nonexistent/page.html" in done.stderr, "no such folder")
        done = subprocess.run([sys.executable, REPORT, "-o", "-", folder], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, check=False)
        check(done.stdout.startswith(b"<!DOCTYPE html>") and not done.stderr, "standard output")
        with open("/dev/full", "wb") as full:
            done = subprocess.run([sys.executable, REPORT, "-o", os.path.join(folder, "page"), folder],
                                  stderr=full, check=False)
        check(done.returncode == 0, "what is said has no reader", done.returncode)
        page, _ = report("--status", "-11", "--command", "a <b> & 'c'", folder)
        said = [report("--products", str(count), folder)[0].said for count in (0, 1, 2, 5)]
        check(["further product" in one for one in said] == [False, False, True, True], "products")
        check("4 further products are not" in said[3], "products", said[3])
        check("SIGSEGV" in page.said and "a <b> & 'c'" in page.said, "command and status")


def test_script():
    """Moved and called through a link the program works, leaves no file beside its modules, and
    needs only the standard library of Python 3.8."""
    modules = os.path.join(os.path.dirname(os.path.realpath(REPORT)), "report")
    with tempfile.TemporaryDirectory() as folder, folder_of({"a.json": [event()]}) as traces:
        os.mkdir(os.path.join(folder, "moved"))
        shutil.copy(REPORT, os.path.join(folder, "moved"))
        shutil.copytree(modules, os.path.join(folder, "moved/report"),
                        ignore=shutil.ignore_patterns("__pycache__"))
        os.symlink("moved/xgemm-report", os.path.join(folder, "link"))
        out = os.path.join(folder, "page.html")
        done = subprocess.run([os.path.join(folder, "link"), "-o", out, traces], cwd="/",
                              stderr=subprocess.PIPE, check=False)
        check(done.returncode == 0 and os.path.exists(out), "moved:", done.stderr)
        check(not os.path.exists(os.path.join(folder, "moved/report/__pycache__")), "__pycache__")
    known = getattr(sys, "stdlib_module_names", None)
    for name in [REPORT] + [os.path.join(modules, name) for name in os.listdir(modules)
                            if name.endswith(".py")]:
        with open(name, encoding="utf-8") as file:
            tree = ast.parse(file.read(), name, feature_version=(3, 8))
        for node in ast.walk(tree) if known else ():
            names = ([one.name for one in node.names] if isinstance(node, ast.Import) else
                     [node.module] if isinstance(node, ast.ImportFrom) and not node.level else [])
            check(all(one.split(".")[0] in known or one == "report.main" for one in names), name,
                  names)


def test_manual():
    """The manual page has the options that --help has."""
    done = subprocess.run([sys.executable, REPORT, "--help"], stdout=subprocess.PIPE, check=True)
    with open(os.path.join(SRCDIR, "man/xgemm-report.1"), encoding="ascii") as file:
        manual = file.read().replace("\\-", "-")
    options = [set(re.findall(r"--[a-z]+", text)) for text in (done.stdout.decode(), manual)]
    check(options[0] == options[1] and len(options[0]) > 4, "options", options[0] ^ options[1])


def luminance(colour):
    parts = [int(colour[i:i + 2], 16) / 255 for i in (1, 3, 5)]
    parts = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


def contrast(one, other):
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_contrast():
    """WCAG AA: a contrast of 4.5 for text, 3 for drawings."""
    with folder_of({"a.json": [event()]}) as folder:
        done = subprocess.run([sys.executable, REPORT, "-o", "-", folder], stdout=subprocess.PIPE,
                              check=True)
    schemes = re.findall(r"(?:--[a-z-]+:#[0-9a-f]{6};)+", done.stdout.decode())
    check(len(schemes) == 2, "a light scheme and a dark one", schemes)
    for scheme in schemes:
        colours = dict(re.findall(r"--([a-z-]+):(#[0-9a-f]{6});", scheme))
        for name, grounds, least in (
                ("text", ("back", "panel"), 7), ("muted", ("back", "panel"), 4.5),
                ("gpu", ("back", "panel"), 3), ("cpu", ("back", "panel"), 3),
                ("both", ("back", "panel"), 3), ("on-mark", ("gpu", "cpu", "both"), 4.5),
                ("link", ("back",), 4.5)):
            for ground in grounds:
                ratio = contrast(colours[name], colours[ground])
                check(ratio >= least, f"{name} on {ground}: {ratio:.2f}, least {least}")


def test_browser():
    """In a browser the figures are right, the page fits the width, and something is visible."""
    try:
        browser = report_browser.Browser()
    except report_browser.NoBrowser as why:
        print(f"{why}: pages are not opened")
        return
    files = random_run(2, 2, 200)
    files["100.json"][0]["args"]["name"] = EVIL[0]
    files["101.json"][0]["args"]["name"] = "a" * 5000
    with browser, folder_of(files) as folder:
        page = os.path.join(folder, "page.html")
        subprocess.run([sys.executable, REPORT, "-o", page, "--command", EVIL[1], folder],
                       stderr=subprocess.DEVNULL, check=True)
        for width, dark in ((360, False), (1200, False), (800, True)):
            browser.open(page, width, dark=dark)
            judge_shown(browser, [one for events in files.values() for one in events], width)
        # On a phone a word of the command breaks only if it is wider than the page, and the table
        # of shapes shows shape and time without scrolling.
        browser.open(page, 360)
        seen = browser.value("[...document.querySelectorAll('.dense thead th')].filter(x =>"
                             " x.getBoundingClientRect().right <= innerWidth)"
                             ".map(x => x.textContent)")
        check("Time" in seen and len(seen) >= 3, "of the shapes a phone shows", seen)
        command = "python3 train.py --hidden 512 --batch 512 --steps 8 --test-images 200 --more"
        subprocess.run([sys.executable, REPORT, "-o", page, "--command", command, folder],
                       stderr=subprocess.DEVNULL, check=True)
        browser.open(page, 360)
        words = browser.value("[...document.querySelectorAll('.what .word')].map(x =>"
                              " [x.textContent, x.getBoundingClientRect().height])")
        check([word for word, _ in words] == command.split(), "words of the command", words)
        check(all(0 < high < 30 for _, high in words), "words that are broken", words)
        pdf = browser.printed()
        check(pdf.startswith(b"%PDF") and len(pdf) > 20000, "printed", len(pdf))


def judge_shown(browser, events, width):
    products = [one for one in events if one["ph"] == "X"]
    island = json.loads(browser.value("document.getElementById('xgemm-report').textContent"))
    check(island["products"] == len(products), width, "products of the island")
    shown = browser.value("[...document.querySelectorAll('data')].map(x => [x.dataset.figure,"
                          " x.value, x.textContent])")
    shown = {name: (float(value), said) for name, value, said in shown}
    check(shown["products"] == (len(products), str(len(products))), width, "products", shown)
    seconds = 1e-6 * sum(one["dur"] for one in products)
    near(shown["seconds"][0], seconds, width, "seconds")
    check(abs(float(shown["seconds"][1].split("\u00a0")[0].replace("\u202f", "")) - seconds) <
          0.006 * seconds, width, "seconds in words", shown["seconds"])
    check(browser.value("document.scripts.length") == 1 and
          browser.value("document.images.length") == 0, width, "what the names made")
    check(browser.value("document.documentElement.scrollWidth <= innerWidth"), width,
          "the page scrolls sideways")
    # Text is never smaller than 10 pixels, whatever a drawing is scaled to.
    smallest = browser.value(
        "Math.min(...[...document.querySelectorAll('p,td,th,dt,dd,svg text')].map(x =>"
        " parseFloat(getComputedStyle(x).fontSize) *"
        " (x.getScreenCTM ? Math.abs(x.getScreenCTM().a) : 1)))")
    check(smallest >= 10, width, "text of", smallest, "pixels")
    drawn = browser.value("[...document.querySelectorAll('svg.timeline path, svg.roofline .mark')]"
                          ".filter(x => x.getBoundingClientRect().width > 0).length")
    check(drawn >= 20, width, "drawn:", drawn)
    rows, step = report_browser.pixels(browser.screenshot(0.25))
    check(len(rows) > 250 and len(rows[0]) // step == width // 4, width, "screenshot", len(rows))
    # In each fifth of its height some pixels differ from the corner's.
    for i in range(5):
        part = rows[len(rows) * i // 5:len(rows) * (i + 1) // 5]
        blank = rows[0][:step]
        inked = sum(row[x:x + step] != blank for row in part for x in range(0, len(row), step))
        check(inked > 0.02 * len(part) * width / 4, width, "blank from fifth", i, inked)


def run_all():
    traces = sys.argv[3:]
    if traces:
        events = []
        for path in traces:
            with open(path, encoding="ascii") as file:
                events += json.loads(file.read().rstrip().rstrip(",") + "]")
        page, _ = report(*traces)
        judge(page, events, " ".join(map(os.path.basename, traces)))
        check(page.island["cut"] == page.island["strange"] == 0, "strange events")
        check(page.island["machine"]["up_bytes_per_s"] > 0, "no figures of the machine")
    else:
        for name, test in sorted(globals().items()):
            if name.startswith("test_"):
                test()
    print(f"{len(failures)} failed")
    return 1 if failures else 0


sys.exit(run_all())
