# SPDX-License-Identifier: MIT
# LAPACKE's functions are intercepted where they call the Fortran names of their own library. A
# routine on the CPU that is left by siglongjmp delays no exit and leaves no memory. Contract 8.9.
. "$srcdir/tests/preload/lib"
needs_plain_library

compile -iquote "$srcdir/src" -shared -fPIC -DLIBRARY -o "$tmp/liblapacke.so" "$srcdir/tests/preload/lapacke.c" -lm
compile -iquote "$srcdir/src" -o "$tmp/lapacke" "$srcdir/tests/preload/lapacke.c" "$tmp/liblapacke.so" -Wl,-rpath,"$tmp" -pthread -lm

right "alone" "$tmp/lapacke" both
right "a jump, alone" "$tmp/lapacke" jump
right "squares, alone" "$tmp/lapacke" squares
right "on the CPU" preloaded XGEMM_MODE=cpu "$tmp/lapacke" both
right "squares, on the CPU" preloaded "$tmp/lapacke" squares
has_engine || exit $status
right "on the GPU" on_engine XGEMM_STATS=1 "$tmp/lapacke" both
grep -q '^  [CG]PU .* dgesv_ ' "$tmp/err" || fail "dgesv_ is not seen: $(cat "$tmp/err")"
right "a jump, on the GPU" on_engine timeout -s KILL 60 "$tmp/lapacke" jump
right "squares, half on the GPU" on_engine "$tmp/lapacke" squares
right "squares, threads that end" on_engine "$tmp/lapacke" ends
right "compared, threads that end" on_engine XGEMM_MODE=compare "$tmp/lapacke" ends
right "squares on the GPU" on_engine timeout -s KILL 120 "$tmp/lapacke" held
exit $status
