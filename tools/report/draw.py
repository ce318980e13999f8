# SPDX-License-Identifier: MIT
"""Draws the timeline, the roofline and bars as SVG. Widths are percentages of the container, so the
drawings fit a phone and a sheet of paper, and text keeps its size.

Colour is never the only distinction: the GPU's products are in the upper track, round and filled, and the
CPU's are in the lower track, square and hatched.
"""
import html
import math

from . import run as model
from . import trace, words

# Above these numbers the timeline shows shares of bins instead of products, and processes, or all of them
# together, instead of threads.
PRODUCTS_MOST = 600
LANES_MOST = 24
BINS = 500

GAP, LABEL, LANE_GAP, AXIS = 2, 16, 10, 20
UNITS = 1000
STEPS = 12  # heights of a bin

ROOF_HEIGHT = 360
NUMBERED = 12
POINTS_MOST = 200

# Lines that only some rooflines have.
FP32, CPU = "roof fp32-roof", "roof cpu-roof"

# Marks nearer than this hide each other's numbers; the width of the plot is that of a phone.
APART = 17.0
NARROW = 300.0


def text_of(value):
    return html.escape(str(value), quote=True)


def ticks(most, wanted=5):
    """Returns about `wanted` round numbers from 0 to most."""
    if not trace.LEAST <= most < math.inf:
        return [0.0]
    step = 10.0 ** math.floor(math.log10(most / wanted))
    step *= next((factor for factor in (1, 2, 5) if most / (factor * step) <= wanted), 10)
    return [i * step for i in range(int(most / step * (1 + 1e-9)) + 1)]


# --- Timeline ---------------------------------------------------------------------------------

class Lane:
    """Threads that share two tracks, and their label."""

    def __init__(self, label, threads):
        self.label, self.threads = label, threads


def lanes_of(threads):
    """Returns one lane per thread, or one per process if there are too many; the last lane has the rest."""
    processes = list(dict.fromkeys(thread.process for thread in threads))
    if len(threads) <= LANES_MOST:
        return [Lane(f"{thread.process.title()}, thread {thread.tid}", [thread])
                for thread in threads]
    lanes = [Lane(f"{process.title()}, {words.count(len(process.threads), 'thread')}",
                  list(process.threads.values())) for process in processes]
    if len(lanes) <= LANES_MOST:
        return lanes
    lanes.sort(key=lambda lane: -sum(len(thread.begins) for thread in lane.threads))
    rest = [thread for lane in lanes[LANES_MOST - 1:] for thread in lane.threads]
    return lanes[:LANES_MOST - 1] + [
        Lane(f"{len(lanes) - LANES_MOST + 1} further processes, "
             f"{words.count(len(rest), 'thread')}", rest)]


def shares_of(lane, first, span):
    """Returns, for each place, the share of each time bin in which the threads had a product there."""
    wide = span / BINS or 1.0
    busy = [[0.0] * BINS for _ in trace.PLACES]
    for thread in lane.threads:
        for begin, end, place in zip(thread.begins, thread.ends, thread.places):
            at = max(0, min(BINS - 1, int((begin - first) / wide)))
            last = max(at, min(BINS - 1, int((end - first) / wide)))
            # A product that took no time is shown too.
            busy[place][at] += 1e-12
            for i in range(at, last + 1):
                inside = min(end, first + (i + 1) * wide) - max(begin, first + i * wide)
                busy[place][i] += max(0.0, inside)
    whole = wide * len(lane.threads)
    return [[min(1.0, seconds / whole) for seconds in places] for places in busy]


def steps_path(shares, bottom, height):
    """Draws bins as columns from the bottom upwards; adjacent columns of one height are merged."""
    path, i = [], 0
    steps = [math.ceil(share * STEPS) for share in shares]
    while i < len(steps):
        until = i
        while until < len(steps) and steps[until] == steps[i]:
            until += 1
        if steps[i]:
            wide, high = (until - i) * UNITS // BINS, steps[i] * height / STEPS
            path.append(f"M{i * UNITS // BINS} {bottom}h{wide}v-{high:.4g}h-{wide}z")
        i = until
    return "".join(path)


def tracks_of(count):
    """Returns the height of a track for this number of lanes, and the top and bottom of each place's
    products in a lane's two tracks."""
    high = 26 if count <= 2 else 18 if count <= 8 else 13
    low = high + GAP
    return high, {"GPU": (0, high), "CPU": (low, low + high), "both": (0, low + high)}


def binned(lane, tracks, first, span):
    drawn = []
    for place, shares in zip(trace.PLACES, shares_of(lane, first, span)):
        top, bottom = tracks[place]
        path = steps_path(shares, bottom, bottom - top)
        if path:
            drawn.append(f'<path class="{place.lower()}" d="{path}"/>')
    return "".join(drawn)


def exact(lane, tracks, first, span):
    drawn = []
    for thread in lane.threads:
        for begin, end, at in zip(thread.begins, thread.ends, thread.places):
            place = trace.PLACES[at]
            top, bottom = tracks[place]
            x = UNITS * (begin - first) / span if span else 0.0
            wide = max(1.0, UNITS * (end - begin) / span if span else UNITS)
            drawn.append(
                f'<rect class="{place.lower()}" x="{min(x, UNITS - 1.0):.5g}" y="{top}" '
                f'width="{wide:.4g}" height="{bottom - top}"><title>{place}, '
                f'{words.seconds(end - begin)}, at {words.seconds(begin - first)}</title></rect>')
    return "".join(drawn)


def timeline(run):
    """Returns the drawing, whether its bars are products, and the lanes."""
    threads = run.threads()
    lanes = lanes_of(threads)
    span = run.span()
    products = sum(len(thread.begins) for thread in threads)
    single = products <= PRODUCTS_MOST and all(len(lane.threads) == 1 for lane in lanes)
    track, tracks = tracks_of(len(lanes))
    lane_high = LABEL + 2 * track + GAP + LANE_GAP
    high = len(lanes) * lane_high
    out = [f'<svg class="timeline" width="100%" height="{high + AXIS}" role="img" '
           'aria-labelledby="timeline-title timeline-desc">'
           '<title id="timeline-title">When products ran, by thread and place</title>'
           f'<desc id="timeline-desc">{words.count(len(lanes), "lane")} over '
           f'{words.seconds(span)}; in each the upper track is the GPU, the lower one the CPU. The '
           'table below has the sums.</desc>']
    for tick in ticks(span):
        x = 100.0 * tick / span if span else 0.0
        anchor = "end" if x > 94 else "start" if x < 3 else "middle"
        out.append(f'<line class="grid" x1="{x:.3f}%" x2="{x:.3f}%" y1="0" y2="{high}"/>'
                   f'<text class="small" x="{x:.3f}%" y="{high + 14}" text-anchor="{anchor}">'
                   f'{words.seconds(tick)}</text>')
    for i, lane in enumerate(lanes):
        y = i * lane_high
        out.append(f'<text class="lane-label" x="0" y="{y + 12}">{text_of(lane.label)}</text>')
        for place in ("GPU", "CPU"):
            top, bottom = (y + LABEL + edge for edge in tracks[place])
            out.append(f'<rect class="lane" x="0" y="{top}" width="100%" height="{track}"/>'
                       f'<text class="small" x="-6" y="{(top + bottom) / 2 + 4:g}" '
                       f'text-anchor="end">{place}</text>')
        draw = exact if single else binned
        out.append(f'<svg x="0" y="{y + LABEL}" width="100%" height="{2 * track + GAP}" '
                   f'viewBox="0 0 {UNITS} {2 * track + GAP}" preserveAspectRatio="none">'
                   f'{draw(lane, tracks, run.first, span)}</svg>')
    out.append("</svg>")
    return "".join(out), single, lanes


# --- Bars -------------------------------------------------------------------------------------

PATTERNS = (
    '<svg class="patterns" width="0" height="0" aria-hidden="true"><defs>'
    '<pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" '
    'patternTransform="rotate(45)"><rect class="under" width="6" height="6"/>'
    '<rect class="cpu" width="3" height="6"/></pattern>'
    '<pattern id="dots" width="6" height="6" patternUnits="userSpaceOnUse">'
    '<rect class="under" width="6" height="6"/><circle class="both" cx="3" cy="3" r="2"/>'
    "</pattern></defs></svg>")


def bar(parts, high=14):
    """Draws a bar of shares (place, share of the whole width), side by side. It repeats the text beside it."""
    out = [f'<svg class="bar" width="100%" height="{high}" aria-hidden="true">']
    at = 0.0
    for place, share in parts:
        share = min(share, 1.0 - at)
        if share > 0:
            out.append(f'<rect class="{place.lower()}-fill" x="{100 * at:.3f}%" '
                       f'width="{100 * share:.3f}%" height="{high}"/>')
            at += share
    return "".join(out) + "</svg>"


# --- Roofline ---------------------------------------------------------------------------------

class Scale:
    """A logarithmic axis from low to high, between two positions."""

    def __init__(self, low, high, begin, end):
        self.low, self.high = math.log10(low), math.log10(high)
        self.begin, self.end = begin, end

    def at(self, value):
        share = (math.log10(value) - self.low) / (self.high - self.low)
        return self.begin + share * (self.end - self.begin)

    def round_numbers(self):
        """Returns powers of ten, and, on a short axis, also twice and five times these."""
        decades = range(math.floor(self.low), math.floor(self.high) + 1)
        factors = (1, 2, 5) if self.high - self.low < 2.5 else (1,)
        found = [factor * 10.0 ** i for i in decades for factor in factors]
        return [value for value in found if self.low <= math.log10(value) <= self.high]


def line(kind, x, y, points):
    (x1, y1), (x2, y2) = points
    return (f'<line class="{kind}" x1="{x.at(x1):.2f}%" y1="{y.at(y1):.1f}" '
            f'x2="{x.at(x2):.2f}%" y2="{y.at(y2):.1f}"/>')


def said(x, y, text, kind="small", anchor="start"):
    return f'<text class="{kind}" x="{x:.2f}%" y="{y:.1f}" text-anchor="{anchor}">{text}</text>'


def mark(shape, x, y, number, r):
    """Draws a mark: round for the GPU, square for the CPU, a diamond for both."""
    kind = f'{shape.place.lower()} mark' + ("" if number else " minor")
    title = (f"<title>{words.shape(*shape.shape()[:3])} on {shape.place}: "
             f"{words.rate(shape.flops / shape.median())}, {words.count(shape.count, 'product')}"
             "</title>")
    if shape.place == "GPU":
        form = f'<circle class="{kind}" cx="{x:.2f}%" cy="{y:.1f}" r="{r}">{title}</circle>'
    else:
        turn = f"translate({-r},{-r})"
        if shape.place == "both":
            turn = f"rotate(45) {turn}"
            # A rotation about the mark's centre needs a coordinate system there.
        form = (f'<svg x="{x:.2f}%" y="{y:.1f}" overflow="visible"><rect class="{kind}" '
                f'width="{2 * r}" height="{2 * r}" transform="{turn}">{title}</rect></svg>')
    if number:
        form += (f'<text class="number" x="{x:.2f}%" y="{y + 4:.1f}" text-anchor="middle">{number}'
                 "</text>")
    return form


def marks(shapes, places):
    """Draws the marks of (number, shape) at places (percent, pixels). Those with the most time show their
    number, unless another number is too near."""
    numbered, drawn = [], []
    for (number, shape), (x, y) in zip(shapes, places):
        free = all(math.hypot((x - other_x) * NARROW / 100, y - other_y) >= APART
                   for other_x, other_y in numbered)
        if number <= NUMBERED and free:
            numbered.append((x, y))
            drawn.append(mark(shape, x, y, number, 9))
        else:
            drawn.append(mark(shape, x, y, None, 4))
    return reversed(drawn)


def label(text, marked, candidates):
    """Places the text at the candidate (percent, pixels, anchor) that hides the fewest marks on a phone."""
    wide = 100.0 * (6.5 * len(text) + 10) / NARROW

    def hidden(candidate):
        x, y, anchor = candidate
        left = x - wide if anchor == "end" else x
        return sum(left - 3 < mark_x < left + wide + 3 and y - 20 < mark_y < y + 10
                   for mark_x, mark_y in marked)
    x, y, anchor = min(candidates, key=hidden)
    return said(x, y, text, "halo", anchor)


def roofline(shapes, machine):
    """Draws shapes by arithmetic per byte on the link (across) and rate (up), below the limits of link and
    arithmetic. Returns None if the floors or the rates of all shapes are unknown."""
    shapes = [(number, shape) for number, shape in enumerate(shapes[:POINTS_MOST], 1)
              if shape.flops > 0 and shape.median() > 0 and model.floors_of(shape, machine)]
    if not shapes:
        return None
    link, top = machine["up_bytes_per_s"], machine["gpu_flops_per_s"]
    points = [(model.intensity_of(shape, machine), shape.flops / shape.median())
              for _, shape in shapes]
    cpu = machine["cpu_flops_per_s"]
    across, up = [point[0] for point in points], [point[1] for point in points]
    knee = top / link
    low_x = min(across) / 2.5
    # Show the level part of the roof if a shape comes near it.
    high_x = max(across) * 2.5 if knee > 40 * max(across) else max(3 * knee, 2.5 * max(across))
    high_y = 2.0 * max([min(top, high_x * link)] + up + ([cpu] if cpu else []))
    low_y = min([high_y / 1e3] + [rate / 3 for rate in up + ([cpu] if cpu else [])])
    x, y = Scale(low_x, high_x, 0.0, 100.0), Scale(low_y, high_y, ROOF_HEIGHT - 2.0, 4.0)
    out = [f'<svg class="roofline" width="100%" height="{ROOF_HEIGHT + 40}" role="img" '
           'aria-labelledby="roofline-title roofline-desc">'
           '<title id="roofline-title">Shapes on a roofline</title>'
           '<desc id="roofline-desc">Rate over arithmetic for each byte on the link; the figures '
           'are in the table of shapes, by number.</desc>']
    for decade in x.round_numbers():
        at = x.at(decade)
        anchor = "start" if at < 3 else "end" if at > 94 else "middle"
        out.append(f'<line class="grid" x1="{at:.2f}%" x2="{at:.2f}%" y1="4" '
                   f'y2="{ROOF_HEIGHT - 2}"/>')
        out.append(said(at, ROOF_HEIGHT + 14, words.digits(decade, 1), anchor=anchor))
    for decade in y.round_numbers():
        at = y.at(decade)
        out.append(f'<line class="grid" x1="0" x2="100%" y1="{at:.1f}" y2="{at:.1f}"/>')
        value, unit = words.scaled(decade, words.RATES, 1).split("\u00a0")
        out.append(f'<text class="small" x="-6" y="{at + 4:.1f}" text-anchor="end">'
                   f'{value}\u2009{unit[0]}</text>')
    out.append(said(50, ROOF_HEIGHT + 34, "FLOP per byte on the link", anchor="middle"))
    begin_y, end_x = max(low_y, low_x * link), min(knee, high_x)
    out.append(line("roof", x, y, ((begin_y / link, begin_y), (end_x, end_x * link))))
    if knee < high_x:
        out.append(line("roof", x, y, ((knee, top), (high_x, top))))
    fp32 = machine["gpu_fp32_flops_per_s"] or top
    fp32_roof = fp32 < 0.9 * top and link * low_x < fp32 < link * high_x
    if fp32_roof:
        out.append(line(FP32, x, y, ((fp32 / link, fp32), (high_x, fp32))))
    if cpu:
        out.append(line(CPU, x, y, ((low_x, cpu), (high_x, cpu))))
    places = [(x.at(fx), y.at(fy)) for fx, fy in points]
    out.extend(marks(shapes, places))
    if knee < high_x:
        out.append(said(99.5, y.at(top) - 6, f"GPU {words.rate(top)}", "halo", anchor="end"))
    if fp32_roof:
        out.append(said(99.5, y.at(fp32) + 14, f"FP32 {words.rate(fp32)}", "halo", anchor="end"))
    if cpu:
        sides = ((99.5, "end"), (0.5, "start")) if x.at(cpu / link) > 50 else ((99.5, "end"),)
        out.append(label(f"CPU {words.rate(cpu)}", places, [
            (at, y.at(cpu) + shift, anchor) for at, anchor in sides for shift in (-6, 14)]))
    out.append(label(f"link {words.bytes_of(link)}/s", places, [
        (x.at(along) - 1.5, y.at(along * link) - 4, "end") for along in
        ((begin_y / link) ** (1 - share) * end_x ** share for share in (0.6, 0.75, 0.9, 0.5))]))
    return "".join(out) + "</svg>"
