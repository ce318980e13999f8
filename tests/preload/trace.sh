# SPDX-License-Identifier: MIT
# XGEMM_TRACE with an unmodified program: the trace is valid JSON and contains every product.
. "$srcdir/tests/preload/fake_lib"
python=${PYTHON:-python3}
"$python" -c 'import json' 2>/dev/null || skip "no Python here"

# traced WHAT THREADS PLACES: $tmp/trace has the program's name, the machine before there is a device and after, and
# 24 products a thread, one after the other, all of them in these places.
traced() {
    "$python" - "$tmp/trace" "$2" "$3" <<'END' || fail "$1"
import collections, json, sys
threads, places = int(sys.argv[2]), sys.argv[3].split(",")
events = json.loads(open(sys.argv[1], encoding="ascii").read().rstrip().rstrip(",") + "]")
told = [event for event in events if event["ph"] == "M"]
names, devices = [event["name"] for event in told], [event["args"].get("device") for event in told[1:]]
assert names[:2] == ["process_name", "xgemm_machine"] and len(names) <= 3, names
assert told[0]["args"]["name"] == "fake", told
assert len(places) > 1 or (devices[-1] is None) == (places == ["CPU"]), devices
ends = collections.defaultdict(list)
for event in events:
    if event["ph"] == "M":
        continue
    args, products = event["args"], ends[event["pid"], event["tid"]]
    assert event["ph"] == "X" and event["cat"] in places and event["cat"] == args["place"], event
    assert (event["cat"] != "CPU") == (args["kernel"] is not None) == (args["down_bytes"] > 0), event
    assert event["dur"] > 0 and 0 <= args["waited_us"] <= event["dur"], event
    assert event["ts"] >= (products[-1] if products else 0), event
    products.append(event["ts"] + event["dur"])
assert len(ends) == threads and {len(products) for products in ends.values()} == {24}, ends
END
    rm -f "$tmp/trace"
}

same "one thread" 1 XGEMM_TRACE="$tmp/trace"
[ ! -s "$tmp/err" ] || fail_with "one thread: messages" "$tmp/err"
traced "one thread" 1 GPU
same "four threads" 4 XGEMM_TRACE="$tmp/trace"
traced "four threads" 4 GPU

# Products below the policy's floor are in the trace too.
same "on the CPU" 4 XGEMM_MODE=cpu XGEMM_TRACE="$tmp/trace"
traced "on the CPU" 4 CPU
same "as it comes" 1 XGEMM_MODE=auto XGEMM_TRACE="$tmp/trace"
traced "as it comes" 1 CPU,GPU
same "no device" 1 FAKECUDA_DEVICES=0 XGEMM_TRACE="$tmp/trace"
traced "no device" 1 CPU
same "compared" 1 XGEMM_MODE=compare XGEMM_TRACE="$tmp/trace"
traced "compared" 1 both

same "no folder" 4 XGEMM_TRACE="$tmp/none/trace"
says "no folder" '^xgemm: cannot append to XGEMM_TRACE='
[ "$(wc -l <"$tmp/err")" -eq 1 ] || fail "no folder: more than one message"

# Three traces of a program become a fixture that the replay reads.
fixture() {
    "$python" "$srcdir/bench/programs/fixture.py" --cpu "$tmp/$1" --gpu "$tmp/gpu" --busy "$tmp/gpu" \
        --cores 4 --threads 2 --spin 0.1 --program 'a fake' -o "$tmp/fixture.csv" 2>"$tmp/said" ||
        fail "fixture of $1: $(cat "$tmp/said")"
    "$builddir/bench/replay" "$tmp/fixture.csv" >"$tmp/replayed" || fail "replay of $1"
    grep "^fixture .* $2 " "$tmp/replayed" || fail "replay of $1: not $2 products"
}
same "plain" 4 XGEMM_MODE=cpu XGEMM_TRACE="$tmp/cpu"
same "plain, another number of threads" 1 XGEMM_MODE=cpu XGEMM_TRACE="$tmp/alone"
same "forced" 4 XGEMM_TRACE="$tmp/gpu"
fixture cpu 96
[ "$(grep -vc '^#' "$tmp/fixture.csv")" -eq 96 ] || fail "the fixture lacks products"
grep -q 'matched' "$tmp/said" && fail "products do not match: $(cat "$tmp/said")"
fixture alone 24
grep -q '4 threads, and of 1 .*matched by shape' "$tmp/said" || fail "does not say what differs"
sed 's/"k":17,/"k":18,/' "$tmp/cpu" >"$tmp/changed"
fixture changed 96
grep -q 'product 2 of thread 0 is 65x33x17 .*, and 65x33x18 .* matched by shape' "$tmp/said" ||
    fail "does not say where products differ: $(cat "$tmp/said")"
grep -q 'no time of 65x33x18 .* 12 products get the predicted one' "$tmp/said" ||
    fail "does not say what was never measured: $(cat "$tmp/said")"
exit $status
