# SPDX-License-Identifier: MIT
"""The page: one HTML file without scripts, pictures or external resources. Its figures are in data
elements and, all together, in a JSON element with the id xgemm-report."""
import json
import os

from . import draw, hints, style, words
from . import run as model
from . import trace
from .draw import text_of

SHAPES_SHOWN = 25
REASONS_SHOWN = 30
TRACES_SHOWN = 30

# No script runs and nothing is loaded, whatever a trace contains.
POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def data(name, value, said):
    """A figure: its text and its value."""
    return f'<data data-figure="{name}" value="{value:.9g}">{text_of(said)}</data>'


def command_of(text):
    """A command whose words break only if they do not fit: a path may break, --an-option does not."""
    parts = (f'<span class="word">{text_of(word)}</span>' for word in text.split(" "))
    return f"<code>{' '.join(parts)}</code>"


def of_class(kind):
    return f' class="{kind}"' if kind else ""


def row(head, *cells, kind="left", first="", **data):
    """A table row: the markup of its head, of the cell before it, and (class, markup) of each cell after it. The
    data become its attributes."""
    said = "".join(f' data-{name}="{text_of(value)}"' for name, value in data.items())
    body = "".join(f"<td{of_class(its)}>{markup}</td>" for its, markup in cells)
    return f'<tr{said}>{first}<th scope="row"{of_class(kind)}>{head}</th>{body}</tr>'


def scroller(label, kind, heads, rows, caption=""):
    """A table of a class that scrolls by itself. heads: (class, markup) of each column; an empty one is no
    heading."""
    head = "".join(f'<th scope="col"{of_class(its)}>{markup}</th>' if markup else f"<td{of_class(its)}></td>"
                   for its, markup in heads)
    return (f'<div class="scroll" role="region" tabindex="0" aria-label="{text_of(label)}"><table{of_class(kind)}>'
            + (f"<caption>{caption}</caption>" if caption else "")
            + (f"<thead><tr>{head}</tr></thead>" if heads else "")
            + f"<tbody>{''.join(rows)}</tbody></table></div>")


# --- Parts ------------------------------------------------------------------------------------

class Page:
    """The page and the data of all its parts."""

    def __init__(self, run, command=None, status=None, whole_s=None, made=None,
                 counted=None):
        self.run = run
        self.command = trace.clean(command, 400) if command else None
        self.status, self.whole_s, self.made, self.counted = status, whole_s, made, counted
        self.machine = run.machine()
        self.total = run.total()
        self.saving = run.saving()
        self.hints = hints.find(run, whole_s, self.command)
        self.shapes = model.shapes_of(run)
        self.timeline, self.single, self.lanes = (
            draw.timeline(run) if self.total.count else ("", True, []))

    def places(self):
        """Returns (place, sum) for each place with products."""
        return [(place, some) for place, some in
                ((place, self.run.at(place)) for place in trace.PLACES) if some.count]

    def reasons(self):
        """Returns ((place, reason), sum), in the order of time, longest first."""
        found = {}
        for group in self.run.groups.values():
            found.setdefault((group.place, group.reason), []).append(group)
        return sorted(((key, model.Sum(groups)) for key, groups in found.items()),
                      key=lambda pair: -pair[1].seconds)

    def head(self):
        what = (f"Matrix products of {command_of(self.command)}" if self.command
                else "Matrix products of a run")
        facts = [words.summary(self.run, self.whole_s)]
        if self.status is not None:
            facts.append(words.status(self.status))
        missing = max(0, (self.counted or 0) - self.total.count)
        if missing:
            are = "is" if missing == 1 else "are"
            facts.append(f"{words.count(missing, 'further product')} {are} not on this page: if a signal "
                         "or _exit ends a process, its trace lacks the products of its last tenth of a "
                         "second.")
        said = words.saving_text(self.run)
        return (f'<header><p class="what">{what}</p>'
                f'<h1 data-figure="headline">{text_of(words.headline(self.run))}</h1>'
                f"<p>{text_of(' '.join(facts))}</p>"
                + (f'<p data-figure="saving-rests-on">{text_of(said)}</p>' if said else "")
                + "</header>")

    def figures(self):
        total, gpu, both = self.total, self.run.at("GPU"), self.run.at("both")
        sides = both if both.count and not gpu.count else gpu
        where = "on both sides" if sides is both else "on the GPU"
        rows = [("Products", data("products", total.count, words.count(total.count)),
                 f"{words.count(sides.count)} {where}"),
                ("Time in products", data("seconds", total.seconds, words.seconds(total.seconds)),
                 "summed over threads" if len(self.run.threads()) > 1 else
                 f"{words.rate(total.flops / total.seconds)} on average" if total.seconds else ""),
                (f"Arithmetic {where}",
                 data("flops-share", sides.flops / total.flops if total.flops else 0.0,
                      words.percent(sides.flops, total.flops)),
                 f"of {words.digits(1e-9 * total.flops)} GFLOP")]
        if gpu.count and self.saving.unknown_count < gpu.count:
            lost = self.saving.seconds < 0
            basis = ("measured" if not self.saving.predicted_count else
                     "predicted" if not self.saving.measured_count else
                     "measured and predicted")
            rows.append(("Time lost" if lost else "Time saved",
                         data("saved-seconds", self.saving.seconds,
                              words.seconds(abs(self.saving.seconds), 2)), f"as {basis}"))
            rows.append(("Copied over the link",
                         data("link-bytes", total.up + total.down,
                              words.bytes_of(total.up + total.down)),
                         f"{words.bytes_of(total.up)} up, {words.bytes_of(total.down)} down"))
        cells = "".join(f"<div><dt>{name}</dt><dd>{figure}<small>{text_of(more)}</small></dd></div>"
                        for name, figure, more in rows)
        return f'<dl class="figures">{cells}</dl>'

    def help(self):
        items = "".join(
            f'<li data-hint="{hint.name}" data-seconds="{hint.seconds:.9g}"><h3>{hint.title}</h3>'
            f"<p>{text_of(hint.because)}</p><p><strong>What helps:</strong> {text_of(hint.remedy)}"
            "</p></li>" for hint in self.hints)
        if not items:
            return ("<section><h2>What would help</h2><p>This run needs no remedy: products ran "
                    "on the side that finishes first.</p></section>")
        return f'<section><h2>What would help</h2><ul class="hints">{items}</ul></section>'

    def time(self):
        """The timeline, and its sums as a table."""
        if self.single:
            how = ("Each bar is a product; each is at least a thousandth of the width wide.")
        else:
            how = (f"There are too many products for one bar each: time is cut into {draw.BINS} "
                   "bins, and the height of a column is the share of its bin in which a product "
                   "ran.")
            if any(len(lane.threads) > 1 for lane in self.lanes):
                how += (f" There are {words.count(len(self.run.threads()), 'thread')}: the threads of a "
                        "process share a lane, and a full column means that all of them were busy.")
        both = (" Products on both sides are in both tracks." if self.run.at("both").count
                else "")
        rows = []
        for lane in self.lanes:
            sums = [sum(thread.seconds(place) for thread in lane.threads)
                    for place, _ in self.places()]
            rows.append(row(text_of(lane.label), ("", words.count(sum(len(thread.begins) for thread in lane.threads))),
                            *(("num", words.seconds(took) if took else "–") for took in sums),
                            kind="left why", lane=lane.label))
        heads = (("left", "Lane"), ("", "Products"), *(("", place) for place, _ in self.places()))
        table = scroller("Time by lane", "", heads, rows, "Products and seconds of each lane")
        return (f"<section><h2>When products ran</h2><p>In each lane the upper track is the GPU and "
                f"the lower track is the CPU.{both} {how}</p>"
                f'<figure><div class="plot">{self.timeline}</div></figure>'
                f"{table}</section>")

    def where(self):
        legend = "".join(
            f"<li>{draw.bar([(place, 1.0)], 12)}{words.PLACES[place]}, "
            f"{words.seconds(some.seconds)}, "
            f"{words.percent(some.seconds, self.total.seconds)}</li>"
            for place, some in self.places())
        whole = draw.bar([(place, some.seconds / self.total.seconds)
                          for place, some in self.places()], 22) if self.total.seconds else ""
        rows, found = [], self.reasons()
        for (place, reason), some in found[:REASONS_SHOWN]:
            share = some.seconds / self.total.seconds if self.total.seconds else 0.0
            rows.append(row(place, ("left why", text_of(words.reason_label(reason))),
                            ("num", words.seconds(some.seconds)),
                            ("num", words.percent(some.seconds, self.total.seconds)),
                            ("", words.count(some.count)), ("bar-cell", draw.bar([(place, share)])),
                            place=place, reason=reason, count=some.count, seconds=f"{some.seconds:.9g}"))
        if found[REASONS_SHOWN:]:
            rest = [some for _, some in found[REASONS_SHOWN:]]
            rows.append(row("–", ("left", words.count(len(rest), "further reason")),
                            ("num", words.seconds(sum(some.seconds for some in rest))), ("", ""),
                            ("", words.count(sum(some.count for some in rest))), ("bar-cell", "")))
        heads = (("left", "Where"), ("left", "Why"), ("", "Time"), ("", "Share"), ("", "Products"), ("bar-cell", ""))
        table = scroller("Time by place and reason", "", heads, rows)
        return (f'<section><h2>Where the time went</h2><ul class="legend">{legend}</ul>{whole}'
                f"{table}</section>")

    def stayed(self):
        """The products of the CPU by reason."""
        items = []
        for (place, reason), some in self.reasons():
            compared = place == "both" and reason == "XGEMM_MODE"
            if place == "GPU" or compared or len(items) >= REASONS_SHOWN:
                continue
            # The reason "cost model" already implies the prediction for the GPU.
            tells = place == "CPU" and reason != "cost model"
            device = "The GPU" if self.run.devices() else "The GPU that the cost model assumes"
            guess = (f" {device} is predicted to take {words.seconds(some.missed)} less for those "
                     "that it would finish first."
                     if tells and some.missed > 0.005 * self.total.seconds else "")
            label = words.reason_label(reason)
            items.append(f"<li><h3>{text_of(label[0].upper() + label[1:])}: "
                         f"{words.count(some.count, 'product')}, {words.seconds(some.seconds)}</h3>"
                         f"<p>{text_of(words.reason_text(place, reason))}{guess}</p></li>")
        if not items:
            where = "the GPU" if self.run.at("GPU").count else "both sides"
            return ("<section><h2>What stayed on the CPU, and why</h2><p>Nothing: every product "
                    f"ran on {where}.</p></section>")
        return ('<section><h2>What stayed on the CPU, and why</h2><ul class="hints">'
                f"{''.join(items)}</ul></section>")

    def other_side(self, shape, times):
        """The time of one product on the other side, and whether it is measured or predicted."""
        if shape.place == "both":
            return "–"
        if shape.place == "GPU" and shape.shape() in times:
            return f"{words.seconds(times[shape.shape()])}, measured"
        predicted = shape.predicted("CPU" if shape.place == "GPU" else "GPU")
        return f"{words.seconds(predicted)}, predicted" if predicted else "–"

    def table_of_shapes(self):
        times = self.run.times_on_cpu()
        several = any(shape.operation != "sgemm" for shape in self.shapes)
        rows = []
        for number, shape in enumerate(self.shapes[:SHAPES_SHOWN], 1):
            median, floors = shape.median(), model.floors_of(shape, self.machine)
            floor = max(floors) if floors else 0.0
            named = f"{text_of(shape.operation)} " if several else ""
            form = "" if shape.is_routine() else f" {text_of(shape.trans)}"
            over = (f"{words.digits(median / floor, 2)}\u00a0\u00d7 "
                    f"{'link' if floors[0] >= floors[1] else 'arithmetic'}"
                    if shape.place == "GPU" and floor > 0 else "–")
            rows.append(row(
                f'{named}<span class="nowrap">{words.shape(*shape.extents())}{form}</span>',
                ("num", words.seconds(shape.seconds)),
                ("left", f"{shape.place}{' ' + text_of(shape.kernel) if shape.kernel else ''}"),
                ("", words.count(shape.count)), ("num", words.seconds(median)),
                ("num", words.digits(1e-9 * shape.flops / median) if median else "–"),
                ("num", self.other_side(shape, times)), ("num", over), first=f"<td>{number}</td>",
                shape=f"{shape.m}x{shape.n}x{shape.k}", trans=shape.trans, place=shape.place,
                operation=shape.operation, count=shape.count, seconds=f"{shape.seconds:.9g}"))
        rest = self.shapes[SHAPES_SHOWN:]
        if rest:
            rows.append(row(f"{words.count(len(rest))} further", ("num", words.seconds(sum(s.seconds for s in rest))),
                            ("", ""), ("", words.count(sum(s.count for s in rest))), *4 * (("", ""),),
                            first="<td></td>"))
        heads = (("", "No."), ("left", "m\u2009\u00d7\u2009n\u2009\u00d7\u2009k, transposes"), ("", "Time"),
                 ("left", "Where"), ("", "Products"), ("", "Median"), ("", "GFLOP/s"), ("", "The other side"),
                 ("", "Over the floor"))
        return ("<p>Shapes as row-major matrices, in the order of time. \u201cThe other side\u201d is the "
                "CPU\u2019s time for one product that the GPU computed, and the GPU\u2019s time for one that "
                "the CPU computed. \u201cOver the floor\u201d is the median divided by the time that the link "
                "or the arithmetic needs at least.</p>"
                + scroller("Shapes", "dense", heads, rows))

    def plot_of_shapes(self):
        plot = draw.roofline(self.shapes, self.machine) if self.machine else None
        if not plot:
            return ('<p class="note">There is no roofline: the traces do not contain the '
                    "machine\u2019s figures.</p>")
        device = self.machine["device"]
        whose = (f"of {device}" if device else
                 "of the device that the cost model assumes, because none was opened")
        level = " (dotted: kernels that multiply only in FP32)" if draw.FP32 in plot else ""
        cpu = (" The dashed line is the CPU\u2019s arithmetic; where it is above the slope, no GPU "
               "behind this link is faster." if draw.CPU in plot else "")
        shapes = len(self.shapes)
        more = (f" The plot shows the first {draw.POINTS_MOST} of {words.count(shapes)} shapes."
                if shapes > draw.POINTS_MOST else "")
        others = sum(not shape.is_single() for shape in self.shapes)
        if others:
            more += (f" {words.count(others, 'shape')} of doubles or complex numbers "
                     f"{'is' if others == 1 else 'are'} not shown: the rates are those of floats.")
        return (
            "<h3 class=\"later\">Shapes and floors</h3>"
            "<p>At these rates no product on the GPU can be above the solid line: on its slope the "
            f"link is the limit, and on its level part the arithmetic{level}.{cpu} Round marks are "
            "products on the GPU, and square marks products on the CPU; the numbers are those of the "
            "table.</p>"
            f'<figure><div class="plot wide">{plot}</div></figure>'
            f'<p class="note">The rates are the cost model\u2019s, {text_of(whose)}: up '
            f"{words.bytes_of(self.machine['up_bytes_per_s'])}/s, down "
            f"{words.bytes_of(self.machine['down_bytes_per_s'] or 0)}/s, and the rate of the "
            "library\u2019s kernels on large products"
            + ("" if self.machine["calibrated"] else "; they are not measured on this machine "
               "(xgemm-run calibrate measures them)")
            + f".{more} The vertical axis is in FLOP/s (M, G, T).</p>")

    def shapes_section(self):
        return (f"<section><h2>Shapes with the most time</h2>{self.table_of_shapes()}"
                f"{self.plot_of_shapes()}</section>")

    def source(self):
        """The files, their gaps, and the machine."""
        traces = self.run.traces
        said = [f"{words.count(len(traces), 'trace')} of "
                f"{words.count(len(self.run.processes), 'process', 'processes')}."]
        cut, strange = (sum(getattr(one, key) for one in traces) for key in ("cut", "strange"))
        if cut:
            said.append(f"{words.count(cut, 'line')} {'is' if cut == 1 else 'are'} cut or damaged, "
                        "as after the end of a killed process: its last products are missing.")
        if strange:
            said.append(f"{words.count(strange, 'event')} {'is' if strange == 1 else 'are'} not in the "
                        "library\u2019s format, and omitted.")
        for one in [one for one in traces if one.trouble][:TRACES_SHOWN]:
            said.append(f"{trace.clean(os.path.basename(one.path))}: {one.trouble}.")
        rows = []
        machine = self.machine or {}
        for label, value in (
                ("Device", ", ".join(self.run.devices()) or "none was opened"),
                ("CPU library", machine.get("cpu_library")),
                ("Its threads", machine.get("cpu_threads") and f"{machine['cpu_threads']:.0f}"),
                ("Cores", machine.get("cores") and f"{machine['cores']:.0f}"),
                ("XGEMM_MODE, XGEMM_MATH", machine.get("mode") and
                 f"{machine['mode']}, {machine.get('math') or '?'}")):
            if value and machine:
                rows.append(row(label, ("left", text_of(value))))
        table = scroller("The machine", "small-table", (), rows) if rows else ""
        made = f' <p class="note">Made {text_of(self.made)}.</p>' if self.made else ""
        return (f"<section><h2>Sources</h2><p>{text_of(' '.join(said))}</p>"
                f"{table}{made}</section>")

    def island(self):
        run, total, saving = self.run, self.total, self.saving
        values = {
            "format": 1,
            "command": self.command,
            "status": self.status,
            "whole_seconds": self.whole_s,
            "headline": words.headline(run),
            "products": total.count,
            "seconds": total.seconds,
            "under_way_seconds": run.under_way(),
            "span_seconds": run.span(),
            "flops": total.flops,
            "up_bytes": total.up,
            "down_bytes": total.down,
            "waited_seconds": total.waited,
            "saved_measured_seconds": saving.measured,
            "saved_measured_products": saving.measured_count,
            "saved_predicted_seconds": saving.predicted,
            "saved_predicted_products": saving.predicted_count,
            "places": {place: {"products": some.count, "seconds": some.seconds, "flops": some.flops}
                       for place, some in self.places()},
            "reasons": [{"place": place, "reason": reason, "products": some.count,
                         "seconds": some.seconds}
                        for (place, reason), some in self.reasons()[:200]],
            "shapes": [{"operation": s.operation, "m": s.m, "n": s.n, "k": s.k,
                        "trans": s.trans, "place": s.place, "kernel": s.kernel,
                        "products": s.count, "seconds": s.seconds}
                       for s in self.shapes[:200]],
            "shape_count": len(self.shapes),
            "processes": len(run.processes),
            "threads": len(run.threads()),
            "hints": [hint.name for hint in self.hints],
            "timeline": {"single": self.single, "lanes": len(self.lanes)},
            "traces": len(run.traces),
            "cut": sum(one.cut for one in run.traces),
            "strange": sum(one.strange for one in run.traces),
            "machine": {key: value if value != float("inf") else None
                        for key, value in (self.machine or {}).items()} or None,
        }
        said = json.dumps(values, allow_nan=False)
        for character in "<>&":
            said = said.replace(character, f"\\u{ord(character):04x}")
        return f'<script type="application/json" id="xgemm-report">{said}</script>'

    def html(self):
        title = f"Products of {self.command}" if self.command else "Products of a run"
        parts = [self.head()]
        if self.total.count:
            parts += [self.figures(), self.help(), self.time(), self.where(), self.stayed(),
                      self.shapes_section()]
        else:
            parts.append(self.help())
        parts += [self.source(), self.island()]
        return ("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
                f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
                '<meta name="viewport" content="width=device-width, initial-scale=1">'
                f"<title>{text_of(title)}</title><style>{style.sheet()}</style></head>\n<body>"
                f"{draw.PATTERNS}<main>" + "\n".join(parts) + "</main></body></html>\n")
