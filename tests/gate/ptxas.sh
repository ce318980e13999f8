# SPDX-License-Identifier: MIT
# No shipped kernel uses local memory, and the build's own check finds one that does.
. "$srcdir/tests/gate/lib"

# check LOG: the output of nvcc -Xptxas -v.
check() {
    "$srcdir/kernels/ptxas-check" "$1"
}

# log FILE FRAME STORES LOADS: writes a report of two kernels, the second one with these bytes.
log() {
    cat >"$1" <<LOG
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'xg_first' for 'sm_90a'
ptxas info    : Function properties for xg_first
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 8 registers, used 0 barriers, 360 bytes cmem[0]
ptxas info    : Compiling entry function 'xg_second' for 'sm_90a'
ptxas info    : Function properties for xg_second
    $2 bytes stack frame, $3 bytes spill stores, $4 bytes spill loads
ptxas info    : Used 255 registers, used 0 barriers, 360 bytes cmem[0]
LOG
}

log "$gate_tmp/clean.log" 0 0 0
passes "$gate_tmp/clean.log"
log "$gate_tmp/frame.log" 8 0 0
refuses "$gate_tmp/frame.log"
log "$gate_tmp/stores.log" 0 4 0
refuses "$gate_tmp/stores.log"
log "$gate_tmp/loads.log" 0 0 12
refuses "$gate_tmp/loads.log"
: >"$gate_tmp/empty.log"
refuses "$gate_tmp/empty.log"

if [ "$XG_WITH_CUDA" = yes ]; then
    for log in "$builddir"/kernels/*/*.log; do
        passes "$log"
    done
fi
exit $status
