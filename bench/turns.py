# SPDX-License-Identifier: MIT
"""Alternating turns of several ways to run the same calls."""
import statistics
import sys
import time


def taken(ways, run, turns, limit_s=float("inf")):
    """Calls run(way), which returns the milliseconds by call, for each way in each turn, in alternating order.

    No turn starts that would pass the limit. Returns the medians over the turns: by call, a list in the order of ways.
    """
    table = {way: [] for way in ways}
    start = time.monotonic()
    for turn in range(turns):
        if turn and (time.monotonic() - start) * (turn + 1) / turn > limit_s:
            break
        for way in ways if turn % 2 == 0 else ways[::-1]:
            begin = time.monotonic()
            table[way].append(run(way))
            print("turn %d, %s: %.0f s" % (turn + 1, way, time.monotonic() - begin), file=sys.stderr, flush=True)
    return {call: [statistics.median(times[call] for times in table[way]) for way in ways]
            for call in table[ways[0]][0]}
