# SPDX-License-Identifier: MIT
"""Checks a trace of fake.c: usage: trace_check.py FILE THREADS PLACE[,PLACE]."""
import collections
import json
import sys

SIZES = [(200, 310, 150), (1, 1, 1), (33, 65, 17), (256, 256, 256), (5, 700, 90), (401, 3, 210),
         (129, 130, 1), (900, 700, 40)]
PRODUCTS = 24


def wrong(text, event=None):
    sys.exit(f"{sys.argv[1]}: {text}{'' if event is None else ': ' + json.dumps(event)}")


def judge(event, places):
    args = event["args"]
    shape = (args["m"], args["n"], args["k"])
    if event["ph"] != "X" or event["cat"] not in places or event["cat"] != args["place"]:
        wrong("not a product in its place", event)
    if event["name"] != "%dx%dx%d %s" % (*shape, args["trans"]):
        wrong("the name is not the shape", event)
    if shape not in SIZES and (shape[1], shape[0], shape[2]) not in SIZES:
        wrong("no shape of the program", event)
    if args["beta"] not in (-1, 0, 1, 2) or args["symbol"] not in ("cblas_sgemm", "sgemm_"):
        wrong("no call of the program", event)
    if not (event["dur"] > 0 and 0 <= args["waited_us"] <= event["dur"]):
        wrong("times", event)
    on_gpu = event["cat"] != "CPU"
    if on_gpu != (args["kernel"] is not None) or on_gpu != (args["down_bytes"] > 0):
        wrong("what the GPU did", event)


def judge_machine(events, places):
    """The program's name; the machine before there is a device, and also after, if there is one."""
    names = [event["name"] for event in events]
    devices = [event["args"]["device"] for event in events if event["name"] == "xgemm_machine"]
    if names[:2] != ["process_name", "xgemm_machine"] or len(names) > 3:
        wrong(f"metadata: {names}")
    if events[0]["args"]["name"] != "fake":
        wrong("not the program's name", events[0])
    if len(places) == 1 and (devices[-1] is None) != (places == ["CPU"]):
        wrong(f"devices: {devices}")


def main():
    threads, places = int(sys.argv[2]), sys.argv[3].split(",")
    with open(sys.argv[1], encoding="ascii") as file:
        events = json.loads(file.read().rstrip().rstrip(",") + "]")
    by_thread = collections.defaultdict(list)
    judge_machine([event for event in events if event["ph"] == "M"], places)
    for event in (event for event in events if event["ph"] != "M"):
        judge(event, places)
        by_thread[event["pid"], event["tid"]].append(event)
    if len(by_thread) != threads or {len(one) for one in by_thread.values()} != {PRODUCTS}:
        wrong(f"products of threads: {[len(one) for one in by_thread.values()]}")
    for one in by_thread.values():
        for before, after in zip(one, one[1:]):
            if after["ts"] < before["ts"] + before["dur"]:
                wrong("begins before the one before it ends", after)


main()
