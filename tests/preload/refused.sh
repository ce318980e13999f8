# SPDX-License-Identifier: MIT
# The library's requests for memory, files and threads are refused, one after the other: the
# products stay right (contract 9.4).
. "$srcdir/tests/preload/lib"
needs_plain_library
has_engine || skip "built without CUDA"
blas_program refused -fno-builtin -rdynamic
export OPENBLAS_NUM_THREADS=1

# right WHAT [NAME=VALUE...]
right() {
    what=$1
    shift
    on_engine XGEMM_MEM_LIMIT=1100K "$@" "$tmp/refused" >"$tmp/out" 2>"$tmp/err" ||
        fail "$what: exit status $?: $(grep -v '^xgemm: ' "$tmp/err" | head -5)"
    grep -q '^[1-9][0-9]* requests$' "$tmp/out" || fail "$what: nothing was refused"
    echo "$what: $(grep requests "$tmp/out")"
}

right "one thread" XGEMM_STAGE_THREADS=1
right "a team of 4" XGEMM_STAGE_THREADS=4
mkdir "$tmp/accounts"
right "with all reports" XGEMM_STATS=1 XGEMM_VERBOSE=3 XGEMM_LOG="$tmp/log" XGEMM_TRACE="$tmp/trace" \
    XGEMM_ACCOUNT="$tmp/accounts"
grep -q 'XGEMM_ACCOUNT=.*: cannot write an account there (errno 28)' "$tmp/log" ||
    fail "an account without space is not reported"
right "compared" XGEMM_MODE=compare XGEMM_STATS=1 XGEMM_LOG="$tmp/log"
exit $status
