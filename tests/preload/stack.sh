# SPDX-License-Identifier: MIT
# A thread with the smallest stack that the system allows multiplies as it does without the library.
# The driver is not called on such a thread, because its needs are unknown. Contract 10.5.
. "$srcdir/tests/preload/lib"
needs_plain_library

quiet_stub "$tmp/libquiet.so"
compile -o "$tmp/stack" "$srcdir/tests/preload/stack.c" "$tmp/libquiet.so" -Wl,-rpath,"$tmp" -pthread

right "alone" "$tmp/stack" 16 3
for settings in XGEMM_MODE=cpu XGEMM_MODE=auto XGEMM_MODE=gpu XGEMM_MODE=compare \
    "XGEMM_MODE=auto XGEMM_VERBOSE=3" "XGEMM_MODE=auto XGEMM_STATS=1" \
    "XGEMM_MODE=auto XGEMM_TRACE=$tmp/trace" "XGEMM_MODE=gpu XGEMM_REPRODUCIBLE=1" \
    "XGEMM_MODE=auto XGEMM_LOG=$tmp/log XGEMM_DEVICES=nonsense"; do
    right "$settings" env $settings LD_PRELOAD="$preload" "$tmp/stack" 16 3
    ! has_engine || right "$settings, on the engine" on_engine env $settings "$tmp/stack" 16 3
done
if has_engine; then
    right "little stack" on_engine XGEMM_STATS=1 "$tmp/stack" 100 5
    says "little stack" '  CPU   thread has little stack .* 5 '
    right "stack enough" on_engine XGEMM_STATS=1 "$tmp/stack" 512 5
    says "stack enough" '  GPU   .* 5 '
fi
exit $status
