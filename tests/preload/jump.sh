# SPDX-License-Identifier: MIT
# Handlers leave a product by siglongjmp, threads are cancelled in one, and signals arrive during
# one: nothing hangs, and all other products are right. Contract 8.9.
. "$srcdir/tests/preload/lib"
needs_plain_library

quiet_stub "$tmp/libquiet.so"
compile -o "$tmp/jump" "$srcdir/tests/preload/jump.c" "$tmp/libquiet.so" -Wl,-rpath,"$tmp" -pthread

for what in jump cancel signal; do
    right "$what, alone" timeout -s KILL 200 "$tmp/jump" $what 20
    right "$what, on the CPU" preloaded XGEMM_MODE=cpu XGEMM_STATS=1 timeout -s KILL 200 "$tmp/jump" $what 40
    # Products that ended are counted, also after the thread has left one.
    seen=$(sed -n 's/^\([0-9]*\) products$/\1/p' "$tmp/err")
    told=$(sed -n 's/^xgemm: \([0-9]*\) products.*/\1/p' "$tmp/err")
    [ "${told:-0}" -ge "${seen:?}" ] || fail "$what: $seen products, $told are counted"
    has_engine || continue
    for threads in 1 4; do
        right "$what, on the engine, $threads threads" on_engine XGEMM_STAGE_THREADS=$threads \
            FAKECUDA_DELAY_US=100 timeout -s KILL 200 "$tmp/jump" $what 40
        grep '^xgemm' "$tmp/err" && fail "$what, on the engine, $threads threads: messages"
    done
    # The policy is asked while signals are open, so a thread that jumps out may hold its latch.
    right "$what, where the policy chooses" on_engine XGEMM_MODE=auto timeout -s KILL 200 "$tmp/jump" $what 40
done

# A signal without a handler ends the program even while the device hangs.
if has_engine; then
    for signal in HUP TERM; do
        LD_LIBRARY_PATH="$XG_FAKEDRV_DIR${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" XGEMM_MODE=gpu \
            FAKECUDA_FAIL=exec:4:-1 LD_PRELOAD="$preload" "$tmp/jump" once >"$tmp/out" 2>&1 &
        sleep 2
        kill -s $signal $!
        wait $!
        result=$?
        [ $result -gt 128 ] || fail "SIG$signal: exit status $result: $(cat "$tmp/out")"
    done
fi
exit $status
