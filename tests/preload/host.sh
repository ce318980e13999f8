# SPDX-License-Identifier: MIT
# A program with constructors that multiply, cancelled threads, faults on operands and rounding
# modes, and a device or a process short of memory. It prints the same as without the library.
# Contract 4.5, 6.1, 7.2, 8.5, 8.8 (doc/contract.md).
. "$srcdir/tests/preload/lib"
needs_plain_library
has_engine || skip "built without CUDA"
OPENBLAS_NUM_THREADS=1
LD_LIBRARY_PATH=$XG_FAKEDRV_DIR${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export OPENBLAS_NUM_THREADS LD_LIBRARY_PATH

compile $XG_BLAS_CFLAGS -shared -fPIC -DHOST_PLUGIN -o "$tmp/plugin.so" "$srcdir/tests/preload/host.c" $XG_BLAS_LIBS
blas_program host -frounding-math -rdynamic

# hosted WHAT MODE [NAME=VALUE...] -- ARGUMENT...: the program ends, and prints the same as alone.
hosted() {
    what=$1
    settings="XGEMM_MODE=$2"
    shift 2
    while [ "$1" != -- ]; do
        settings="$settings $1"
        shift
    done
    shift
    timeout 60 "$tmp/host" "$@" >"$tmp/alone" 2>&1 && grep -q '^end$' "$tmp/alone" || {
        cat "$tmp/alone"
        echo "$what: fails without the library"
        exit 99
    }
    preloaded $settings timeout 20 "$tmp/host" "$@" >"$tmp/out" 2>"$tmp/err"
    result=$?
    [ $result -eq 0 ] || fail "$what: exit status $result (124: it hangs)"
    diff "$tmp/alone" "$tmp/out" || fail "$what: not what it prints without the library"
}

# silent WHAT: the run printed no message.
silent() {
    [ ! -s "$tmp/err" ] || fail_with "$1: messages" "$tmp/err"
}

for mode in gpu auto; do
    what="a product in a constructor, mode $mode"
    hosted "$what" $mode -- constructor "$tmp/plugin.so"
    silent "$what"
    what="a constructor beside a thread, mode $mode"
    hosted "$what" $mode -- inversion "$tmp/plugin.so"
    silent "$what"
done

# Also more threads than this machine may have cores.
for threads in 1 4; do
    for scenario in cancel fault rounding; do
        hosted "$scenario, $threads threads" gpu XGEMM_STAGE_THREADS=$threads -- $scenario
        silent "$scenario, $threads threads"
    done
done

# Little device memory: how two products share it must not depend on their order.
for mode in gpu auto; do
    what="reproducible, mode $mode"
    hosted "$what" $mode XGEMM_REPRODUCIBLE=1 XGEMM_MEM_LIMIT=1M -- bits
    silent "$what"
done

# The limit of memory is lowered after the start: thread-local data that a library allocates at a
# thread's first use would end the process.
for mode in gpu auto cpu; do
    hosted "a limit of memory, mode $mode" $mode -- limit
done
exit $status
