# SPDX-License-Identifier: MIT
"""Texts for numbers, sides and reasons, and the sentences at the head of the page."""
import signal

REASONS = {
    "XGEMM_MODE": "The setting XGEMM_MODE determines where products run.",
    "too small": "The CPU finishes products of this size before a GPU call could begin.",
    "cost model": "The CPU was expected to finish first: the copies to and from the GPU take longer "
                  "than the product.",
    "products around it": "The GPU alone would have been faster, but the CPU library's threads spin "
                          "between products, and a change of sides costs more than it gains.",
    "trial": "The call ran on the CPU to measure the CPU's time; trials take at most 2 % of the time.",
    "GPU start-up not earned yet": "The GPU would be faster, but the products so far had lost less "
                                   "time on the CPU than the start of the GPU costs.",
    "GPU starting": "The GPU was starting in the background; meanwhile the CPU computes.",
    "GPU busy": "The GPU was computing products of other threads, and waiting for it would have taken "
                "longer than the CPU.",
    "does not fit device memory": "The free memory of the GPU was too small for a single tile.",
    "forked child": "The process is a forked child of a process that had started the GPU; such a "
                    "child cannot use the GPU.",
    "no usable GPU": "No GPU is usable: there is no driver, no device or no kernel for it, or it was "
                     "disabled after failures.",
    "no usable GPU: no driver": "There is no GPU here: the CUDA driver (libcuda.so.1) is not found.",
    "no usable GPU: no device": "There is no GPU here: the CUDA driver finds no device.",
    "no usable GPU: not allowed": "There is no GPU here: its device files (/dev/nvidia*) may not be "
                                  "opened, by this user or in this container.",
    "GPU failed": "The GPU failed during the product, and the CPU completed it. The results are right.",
    "thread has little stack": "The calling thread has less stack left than the driver needs.",
    "GPU's result was wrong": "Verification found the GPU's result wrong, and the CPU recomputed it. "
                              "The program got the right result.",
    "XGEMM_OPERATIONS": "The setting XGEMM_OPERATIONS does not name this operation: it stays on the "
                        "CPU.",
    "no kernel for it": "The library has no kernel for this operation on this GPU, and cuBLAS was not found or "
                        "could not be opened.",
    "no cuSOLVER here": "cuSOLVER, which computes LAPACK routines, was not found or could not be opened: "
                        "pip install 'xgemm-shim[lapack]' or nvidia-cusolver.",
    "cuSOLVER declines": "A LAPACK routine: a matrix holds a NaN or an infinity or does not fit the GPU's "
                         "memory, LAPACK's info is not 0, or cuSOLVER is not as exact as LAPACK on it; or a call "
                         "inside a routine whose matrix holds a NaN or an infinity.",
    "nothing to multiply": "A dimension or the scalar is 0, so there is nothing to multiply.",
    "computed in place": "XGEMM_MODE=compare: the result overwrites an operand (TRMM, TRSM), so only "
                         "one side can compute it.",
    "C overlaps A or B": "The result shares memory with an operand, and only the program's own "
                         "library determines its values.",
}

# Reasons that mean that no GPU is usable.
NO_GPU = tuple(reason for reason in REASONS if reason.startswith("no usable GPU"))

PLACES = {"GPU": "on the GPU", "CPU": "on the CPU", "both": "on both sides"}

ON_GPU = {
    "XGEMM_MODE": "The setting XGEMM_MODE sends products to the GPU.",
    "cost model": "The GPU was expected to finish first.",
    "products around it": "The products around it ran on the GPU, and a change of sides costs more "
                          "than it gains.",
    "trial": "The call ran on the GPU to measure the GPU's time; trials take at most 2 % of the time.",
}

ON_BOTH = {
    "XGEMM_MODE": "XGEMM_MODE=compare: both sides computed it, one after the other.",
    "GPU failed": "The GPU failed during the product, and the CPU completed it. The results are right.",
}


LABELS = {
    "cost model": "expected to finish first there (cost model)",
    "XGEMM_MODE": "the setting XGEMM_MODE",
    "too small": "too small for a GPU",
    "XGEMM_OPERATIONS": "not named by the setting XGEMM_OPERATIONS",
    "no kernel for it": "no kernel for it on this GPU",
}


def reason_label(reason):
    return LABELS.get(reason, reason)


def reason_text(place, reason):
    own = {"GPU": ON_GPU, "both": ON_BOTH}.get(place, {})
    return own.get(reason) or REASONS.get(reason) or "This report has no explanation of this reason."


def digits(value, figures=3):
    """Formats with a number of significant figures, without an exponent, and with thousands separated by a
    thin space that breaks no line."""
    if value == 0:
        return "0"
    text = f"{value:.{figures - 1}e}"
    after = max(0, figures - 1 - int(text.split("e")[1]))
    return f"{float(text):,.{after}f}".replace(",", "\u202f")


def scaled(value, steps, figures=3):
    """Formats with the largest unit that leaves a digit before the point; steps are (size, unit)."""
    for size, unit in steps:
        if abs(value) >= 0.9995 * size:
            return f"{digits(value / size, figures)}\u00a0{unit}"
    size, unit = steps[-1]
    return f"{digits(value / size, figures)}\u00a0{unit}"


def seconds(value, figures=3):
    if abs(value) < 5e-10:
        return "0\u00a0s"
    return scaled(value, ((1.0, "s"), (1e-3, "ms"), (1e-6, "\u00b5s"), (1e-9, "ns")), figures)


RATES = ((1e12, "TFLOP/s"), (1e9, "GFLOP/s"), (1e6, "MFLOP/s"))


def rate(flops_per_s):
    return scaled(flops_per_s, RATES)


def bytes_of(value):
    return scaled(value, ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B")))


def count(value, noun="", plural=None):
    text = f"{value:,}".replace(",", "\u202f")
    if not noun:
        return text
    return f"{text} {noun if value == 1 else plural or noun + 's'}"


def percent(part, whole):
    if whole <= 0:
        return "0\u00a0%"
    share = 100.0 * part / whole
    if 0 < share < 0.5:
        return "less than 1\u00a0%"
    if 99.5 <= share < 99.999:
        return "more than 99\u00a0%"
    return f"{share:.0f}\u00a0%"


def shape(*extents):
    return "\u2009\u00d7\u2009".join(map(str, extents))


def status(value):
    """Says how the program ended. A negative status and one above 128 mean a signal."""
    number = -value if value < 0 else value - 128
    if value < 0 or value > 128:
        try:
            said = signal.Signals(number).name
        except ValueError:
            said = None
        if said and value < 0:
            return f"{said} ended the program."
        if said:
            return f"Its exit status was {value}, which means that {said} ended it."
    return "It succeeded (exit status 0)." if value == 0 else f"Its exit status was {value}."


# --- The head of the page ---

def headline(run):
    total, gpu, cpu, both = run.total(), run.at("GPU"), run.at("CPU"), run.at("both")
    if not total.count:
        return "No matrix product was seen"
    if both.count and not gpu.count:
        return f"{count(both.count, 'product')} ran on both sides for comparison"
    if not gpu.count:
        if total.count == 1:
            return "The one product ran on the CPU"
        return f"All {count(total.count)} products ran on the CPU"
    where = (f"All {count(total.count)} products ran on the GPU" if gpu.count == total.count > 1
             else "The one product ran on the GPU" if total.count == 1
             else f"{count(gpu.count)} of {count(total.count)} products ran on the GPU")
    saving = run.saving()
    if saving.unknown_count == gpu.count:
        return where
    if abs(saving.seconds) < 0.03 * max(gpu.seconds, saving.seconds + gpu.seconds):
        return f"{where}, in about the time that the CPU would have taken"
    # If threads computed at the same time, the elapsed time is shorter than the sum.
    at_once = len(run.threads()) > 1 and total.seconds > 1.05 * run.under_way()
    of_all = f" in its {count(len(run.threads()))} threads together" if at_once else ""
    if saving.seconds > 0:
        return f"{where} and saved about {seconds(saving.seconds, 2)}{of_all}"
    return f"{where} and lost about {seconds(-saving.seconds, 2)}{of_all}"


def saving_text(run):
    """Says in a few sentences how the saving was determined."""
    saving = run.saving()
    if not run.at("GPU").count:
        return ""
    if saving.unknown_count == run.at("GPU").count:
        return "The trace does not say what the CPU would have taken for these products."
    said = []
    if saving.measured_count:
        rest = "" if saving.predicted_count else ", which is all of them"
        said.append(f"For {count(saving.measured_count)} of the products on the GPU the CPU\u2019s "
                    f"time is measured{rest}: the same shape ran on the CPU in this run as well. "
                    + saved("They", saving.measured) + ".")
    if saving.predicted_count:
        which = "the others" if saving.measured_count else "the products on the GPU"
        said.append(f"For {which} the CPU\u2019s time is the cost model\u2019s prediction, as too "
                    "few of these shapes ran on the CPU in this run. "
                    + saved("By this prediction they", saving.predicted) + ".")
        off = run.off("CPU")
        if off:
            said.append(f"Products that ran on the CPU took {digits(off, 2)} times the predicted time.")
        else:
            said.append("This run does not show the error of that prediction: "
                        "XGEMM_MODE=compare or xgemm-run ab measures both sides.")
    if saving.unknown_count:
        said.append(f"For {count(saving.unknown_count)} of them the CPU\u2019s time is unknown.")
    if saving.measured_count or saving.predicted_count:
        said.append("The time that the start of the GPU costs the rest of the program is not included.")
    if len(run.threads()) > 1:
        said.append("Times are summed over threads: if threads computed at the same time, the elapsed "
                    "time is shorter.")
    return " ".join(said)


def saved(who, value):
    return f"{who} saved {seconds(value)}" if value >= 0 else f"{who} lost {seconds(-value)}"


def summary(run, whole_s):
    """Says in sentences where products ran and for how long."""
    total, gpu = run.total(), run.at("GPU")
    if not total.count:
        return ("No call of the program reached the library, or the program ended before its trace "
                "was written.")
    machine = run.machine() or {}
    threads = run.threads()
    processes = len({thread.process for thread in threads})
    who = count(len(threads), "thread")
    if processes > 1:
        who = f"{count(processes)} processes with {who}"
    said = [f"{who[0].upper()}{who[1:]} computed {count(total.count, 'product')}, "
            f"{digits(total.flops * 1e-9)} GFLOP."]
    under_way = run.under_way()
    if whole_s:
        said.append(f"Products ran during {seconds(under_way)} of the {seconds(whole_s)} "
                    f"({percent(under_way, whole_s)}) that the program took.")
    else:
        said.append(f"Products ran during {seconds(under_way)} of the "
                    f"{seconds(run.span())} from the start of the first to the end of the last.")
    if gpu.count:
        device = machine.get("device") or "The GPU"
        said.append(f"{device} computed {percent(gpu.flops, total.flops)} of the arithmetic.")
    return " ".join(said)
