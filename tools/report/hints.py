# SPDX-License-Identifier: MIT
"""Hints: observations of the run, each with a remedy and the time that it concerns.

A hint appears if it concerns a relevant share of the products' time, and states its evidence. Products
that are faster on the CPU get no hint.
"""
from . import words
from .run import Sum

# A hint needs at least this share of the products' time, or of their number.
MATTERS = 0.03
MANY = 0.2

# Threads that spin for longer occupy cores that staging needs.
SPIN_S = 0.01

SMALL_FLOPS = 2.0 * 64 ** 3
OFF = 1.5
SHARE_OF_PROGRAM = 0.3


class Hint:
    def __init__(self, name, seconds, title, because, remedy):
        self.name, self.seconds, self.title = name, seconds, title
        self.because, self.remedy = because, remedy


class Facts:
    """The facts that all hints use, computed once."""

    def __init__(self, run, whole_s, command):
        self.command = command or "PROGRAM"
        self.run = run
        self.whole_s = whole_s
        self.machine = run.machine() or {}
        self.total, self.gpu, self.cpu = run.total(), run.at("GPU"), run.at("CPU")

    def on_cpu(self, *reasons):
        return Sum(self.run.groups_for("CPU", *reasons))

    def matters(self, seconds):
        return seconds >= MATTERS * self.total.seconds and seconds > 0

    def start_s(self):
        return 1e-6 * (self.machine.get("gpu_start_us") or 0.4e6)


def about(facts, some):
    """Says how many products there are and how long they took."""
    return (f"{words.count(some.count, 'product')} "
            f"({words.percent(some.seconds, facts.total.seconds)} of the products\u2019 time)")


def no_gpu(facts):
    some = facts.on_cpu(*words.NO_GPU)
    if some.count:
        known = [words.REASONS[reason] for reason in words.NO_GPU[1:] if facts.on_cpu(reason).count]
        yield Hint("no-gpu", some.seconds, "No GPU here" if known else "No GPU was usable",
                   " ".join([f"{about(facts, some)} ran on the CPU because no GPU was usable.",
                             *known]),
                   "xgemm-run doctor says what is missing: the driver, a device, permission, or the "
                   "GPU in a container. XGEMM_VERBOSE=2 prints why the start failed.")


def mode(facts):
    some = facts.on_cpu("XGEMM_MODE")
    if facts.machine.get("mode") == "cpu" and some.count:
        yield Hint("mode", some.missed, "XGEMM_MODE=cpu keeps all products on the CPU",
                   f"{about(facts, some)} ran on the CPU for this reason. The GPU is predicted to take "
                   f"{words.seconds(some.missed)} less for those that it would finish first.",
                   "Unset XGEMM_MODE, or set it to auto.")
    both = facts.run.at("both")
    if facts.machine.get("mode") == "compare" and both.count:
        yield Hint("compare", both.seconds, "XGEMM_MODE=compare computes everything twice",
                   f"{words.count(both.count, 'product')} ran on both sides. The times here are sums of "
                   "both sides; the table that the library prints at exit has them separately, with "
                   "the errors.",
                   "Unset XGEMM_MODE for the gain.")


def failures(facts):
    run = facts.run
    failed = [group for group in run.groups.values() if group.reason == "GPU failed"]
    if failed:
        some = Sum(failed)
        yield Hint("failed", some.seconds, "The GPU failed",
                   f"The CPU completed {words.count(some.count, 'product')}.",
                   "The library\u2019s warnings say what the driver reported (XGEMM_VERBOSE=2 prints "
                   "details); nvidia-smi -q and the operating system\u2019s log (Xid) say whether the "
                   "device is defective.")
    wrong = facts.on_cpu("GPU's result was wrong")
    if wrong.count:
        yield Hint("wrong", wrong.seconds, "The GPU computed wrong results",
                   f"Verification found {words.count(wrong.count, 'product')} wrong. The CPU recomputed "
                   "them, and the program got right results.",
                   "Do not trust this GPU: test its memory (nvidia-smi -q, ECC errors), and keep "
                   "XGEMM_VERIFY on.")


def start(facts):
    some = facts.on_cpu("GPU start-up not earned yet", "GPU starting")
    if not (facts.matters(some.missed) or some.missed > 0 and not facts.gpu.count):
        return
    start_s = facts.start_s()
    if some.missed < start_s:
        remedy = (f"No remedy exists for a single run this short: the start itself takes about "
                  f"{words.seconds(start_s, 1)}. If many short runs follow each other, do their "
                  "work in one process.")
    else:
        remedy = ("If many short runs follow each other, do their work in one process. "
                  "XGEMM_MODE=gpu starts the GPU with the first product and waits for it.")
    yield Hint("start", some.missed, "Products ran before a start of the GPU was worthwhile",
               f"{about(facts, some)} ran on the CPU before the GPU was ready; on a GPU "
               f"that was ready they are predicted to take {words.seconds(some.missed)} less.",
               remedy)


def spin(facts):
    spins = facts.machine.get("spin_s") or 0.0
    # Products that a single thread computes wake no other threads.
    if not any(group.flops > SMALL_FLOPS for group in facts.run.groups_at("CPU")):
        return
    # The predictions are for sleeping threads; the excess over them is the loss.
    slow = 0.0
    for group in facts.run.groups_at("GPU"):
        if group.gpu_count == group.count:
            slow += max(0.0, group.count * group.median() - group.gpu)
    if spins < SPIN_S or not (facts.gpu.count or facts.on_cpu(
            "cost model", "products around it", "GPU starting", "GPU start-up not earned yet", "GPU busy").count):
        return
    how_long = "without end" if spins == float("inf") else f"for {words.seconds(spins, 2)}"
    slower = (f" In this run the products on the GPU took {words.seconds(slow)} more than "
              "predicted, which may have this cause." if facts.matters(slow) else "")
    yield Hint("spin", slow, "The CPU library\u2019s threads occupy the cores",
               f"After each product they spin {how_long} while they wait for the next one. "
               f"Meanwhile the threads that copy operands to the GPU have no cores.{slower}",
               "Start the program with xgemm-run, which sets OPENBLAS_THREAD_TIMEOUT and "
               "GOMP_SPINCOUNT if waking threads is cheap on this machine (xgemm-run doctor says), or "
               "set them yourself (KMP_BLOCKTIME=1 for LLVM's and Intel's OpenMP).")


def small(facts):
    few = [group for group in facts.run.groups.values()
           if group.reason == "too small" or 0 < group.flops <= SMALL_FLOPS]
    some = Sum(few)
    if not some.count or not (facts.matters(some.seconds / 3) or
                              some.count >= max(100, MANY * facts.total.count)):
        return
    yield Hint("small", some.seconds, "Many products are small",
               f"{about(facts, some)} are at most "
               "64\u2009\u00d7\u200964\u2009\u00d7\u200964, too small for any GPU to gain.",
               "If the program multiplies many vectors or small matrices by the same matrix, stack them "
               "and multiply once.")


def crowded(facts):
    some = facts.on_cpu("GPU busy")
    waited = facts.total.waited
    if facts.matters(some.missed) or facts.matters(waited):
        said = []
        if some.count:
            said.append(f"{words.count(some.count, 'product')} went to the CPU because the GPU was "
                        "busy")
        if facts.matters(waited):
            said.append(f"products waited {words.seconds(waited)} for it")
        because = " and ".join(said)
        yield Hint("busy", max(some.missed, waited), "Threads compete for the GPU",
                   f"{because[0].upper()}{because[1:]}.",
                   "Two products run on the GPU at once. Fewer threads with larger matrices use it "
                   "better.")


# Reasons that keep products on the CPU: name, reason, title, observation, and remedy.
KEPT = (
    ("forked", "forked child", "Children of fork cannot use the GPU",
     "ran in processes that were forked after the GPU had started.",
     "Create the workers before the first large product, or let multiprocessing use spawn or "
     "forkserver."),
    ("memory", "does not fit device memory", "The GPU\u2019s memory was too small",
     "did not fit, not even in tiles.",
     "Check which processes hold the memory (nvidia-smi), and raise XGEMM_MEM_LIMIT if it is set."),
    ("stack", "thread has little stack", "Threads have too little stack for the driver",
     "ran on threads with less than 256 KiB left.",
     "Give the threads larger stacks: threading.stack_size in Python, pthread_attr_setstacksize in C, "
     "OMP_STACKSIZE with OpenMP."),
)


def kept(facts):
    for name, reason, title, did, remedy in KEPT:
        some = facts.on_cpu(reason)
        if some.count:
            yield Hint(name, some.missed, title, f"{about(facts, some)} {did}", remedy)


def overlap(facts):
    some = facts.on_cpu("C overlaps A or B")
    if facts.matters(some.seconds):
        yield Hint("overlap", some.missed, "Results overlap operands",
                   f"{about(facts, some)} have a result that shares memory with an operand.",
                   "Write the result to a separate array.")


def model(facts):
    """The GPU took longer than the CPU would have taken, or predictions are wrong by a large factor."""
    saving = facts.run.saving()
    if facts.matters(saving.lost) and facts.gpu.count:
        forced = facts.machine.get("mode") == "gpu"
        yield Hint("slower", saving.lost, "Some products are slower on the GPU",
                   f"Shapes that are faster on the CPU lost {words.seconds(saving.lost)} on the GPU"
                   + (", including the wait for its start." if forced else "."),
                   "Leave XGEMM_MODE at auto, which keeps them on the CPU." if forced else
                   "xgemm-run calibrate measures this machine once, so that the cost model starts "
                   "with the right figures.")
    offs = {place: facts.run.off(place) for place in ("CPU", "GPU")}
    wrong = {place: off for place, off in offs.items() if off and not 1 / OFF <= off <= OFF}
    if wrong and facts.machine and not facts.machine.get("calibrated") and \
            facts.machine.get("mode") == "auto":
        said = " and ".join(f"{words.digits(off, 2)} times the predicted time on the {place}"
                            for place, off in sorted(wrong.items()))
        yield Hint("calibrate", 0.0, "The cost model does not know this machine",
                   f"Products took {said}.",
                   "xgemm-run calibrate measures this machine once, in about 20 s.")


def thin(facts):
    some = facts.on_cpu("cost model")
    if some.seconds >= 0.3 * facts.total.seconds and some.count:
        most = max(facts.run.groups_for("CPU", "cost model"), key=lambda group: group.seconds)
        gpu = (f"; for one of these the GPU was expected to take {words.seconds(most.gpu / most.gpu_count)}, "
               f"and the CPU took {words.seconds(most.median())}" if most.gpu_count else "")
        yield Hint("thin", 0.0, "Much of the time is in products that the CPU finishes first",
                   f"{about(facts, some)} ran on the CPU for this reason, most of the time in "
                   f"{words.shape(*most.shape()[:3])}{gpu}.",
                   "This is not a fault. Larger batches do more arithmetic per copied byte, and move "
                   "such products to the GPU.")


def elsewhere(facts):
    if not facts.whole_s or not facts.total.count:
        return
    under_way = facts.run.under_way()
    rest = max(1e-9, facts.whole_s - under_way)
    if under_way < SHARE_OF_PROGRAM * facts.whole_s:
        yield Hint("elsewhere", 0.0, "Most of the program\u2019s time is not in products",
                   f"Products ran during {words.seconds(under_way)} of "
                   f"{words.seconds(facts.whole_s)}; if they took no time, the program "
                   f"would be {words.digits(facts.whole_s / rest)} "
                   "times as fast.",
                   "Optimise other parts first: a profiler (py-spy, perf) finds them.")


def nothing(facts):
    if not facts.total.count:
        yield Hint("none-seen", 0.0, "No product was seen",
                   "The program multiplied nothing, or the library does not see its calls (a static or "
                   "hidden BLAS), or its account could not be written.",
                   f"xgemm-run doctor {facts.command} says which BLAS it loads and which calls the library "
                   "sees.")


ALL = (nothing, no_gpu, failures, mode, kept, overlap, start, spin, crowded, model,
       small, thin, elsewhere)


def find(run, whole_s=None, command=None):
    """Returns the hints: those about failures first, then in the order of the time that they concern."""
    facts = Facts(run, whole_s, command)
    found = [hint for look in ALL for hint in look(facts)]
    first = ("none-seen", "wrong", "failed", "no-gpu", "mode")
    return sorted(found, key=lambda hint: (hint.name not in first, -hint.seconds))
