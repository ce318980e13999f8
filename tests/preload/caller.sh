# SPDX-License-Identifier: MIT
# Each caller's products go to the BLAS that it would have reached without the library.
# Contract 7.9, 8.7, 8.8, 11.1 (doc/contract.md).
. "$srcdir/tests/preload/lib"

lp64='-DSTUB_INT=int32_t -DSTUB_CBLAS=cblas_sgemm -DSTUB_FORTRAN=sgemm_'
call_c='-DCALL_INT=int32_t -DCALL_CBLAS=cblas_sgemm'
call_f='-DCALL_INT=int32_t -DCALL_FORTRAN=sgemm_'
link="-L$tmp -Wl,-rpath,$tmp"

stub "$tmp/libone.so" one $lp64 -DSTUB_ISAMAX
stub "$tmp/libtwo.so" two $lp64
stub "$tmp/libplt.so" plt $lp64 -DSTUB_VIA_PLT

# A program that is linked to a BLAS. At a fixed address it has its own address for a function that
# it points to, and that address is a jump into the library.
for kind in pie no-pie; do
    [ $kind = pie ] || [ "$XG_SANITIZER" = no ] || continue
    program "$tmp/c" -f$kind -$kind $call_c $link -lone
    everywhere "C program, $kind" "$tmp/c" own 7
    program "$tmp/f" -f$kind -$kind $call_f $link -lone
    everywhere "Fortran program, $kind" "$tmp/f" own 7
done

# Plug-ins with a BLAS each, which RTLD_NEXT does not find.
compile -o "$tmp/main" "$srcdir/tests/preload/main.c" -ldl -pthread
plugin "$tmp/one.so" $call_c $link -lone
plugin "$tmp/two.so" $call_f $link -ltwo
everywhere "two plug-ins" "$tmp/main" plugin "$tmp/one.so" 5 plugin "$tmp/two.so" 6 \
    plugin "$tmp/one.so" 7
everywhere "program and plug-in" "$tmp/c" own 5 plugin "$tmp/two.so" 6
everywhere "global library and plug-in" "$tmp/main" load "$tmp/libtwo.so" plugin "$tmp/one.so" 5

# A plug-in that is given a function and has no BLAS of its own.
plugin "$tmp/given.so" $call_c -DCALL_NAMELESS
everywhere "function pointer" "$tmp/main" pointer "$tmp/one.so" "$tmp/given.so" 5

# Two copies of the library under other names: each would take the other for a BLAS, and they would
# call each other for ever.
cp "$XG_SO" "$tmp/libfirst.so"
cp "$XG_SO" "$tmp/libsecond.so"
once=$preload
preload=$before$tmp/libfirst.so:$tmp/libsecond.so
everywhere "two copies, linked" timeout -s KILL 60 "$tmp/c" own 5
everywhere "two copies, function pointer" timeout -s KILL 60 "$tmp/main" pointer "$tmp/one.so" \
    "$tmp/given.so" 5
preload=$once

# The C entry of this BLAS calls its Fortran entry by name; that call is passed on, and not counted.
plugin "$tmp/plt.so" $call_c $link -lplt
everywhere "C entry over the Fortran entry" "$tmp/main" plugin "$tmp/plt.so" 5
program "$tmp/plt" $call_c $link -lplt
everywhere "the same, linked" "$tmp/plt" own 5
preloaded XGEMM_MODE=cpu XGEMM_STATS=1 "$tmp/plt" own 5 >"$tmp/stats" 2>&1
grep -q 'xgemm: 2 products' "$tmp/stats" || fail_with "two calls are not counted as two" "$tmp/stats"

# Names with 64-bit integers and SciPy's names.
for name in scipy_cblas_sgemm:CBLAS:int32_t scipy_sgemm_:FORTRAN:int32_t \
    cblas_sgemm64_:CBLAS:int64_t cblas_sgemm_64:CBLAS:int64_t sgemm_64_:FORTRAN:int64_t \
    scipy_cblas_sgemm64_:CBLAS:int64_t scipy_sgemm_64_:FORTRAN:int64_t; do
    symbol=${name%%:*} int=${name##*:} kind=${name#*:}
    kind=${kind%:*}
    stub "$tmp/lib$symbol.so" "$symbol" -DSTUB_INT=$int -DSTUB_$kind=$symbol
    plugin "$tmp/$symbol.so" -DCALL_INT=$int -DCALL_$kind=$symbol $link -l$symbol
    everywhere "$symbol" "$tmp/main" plugin "$tmp/$symbol.so" 5
done

# 64-bit integers under plain names: known by the file's name, or by how isamax_ reads its count.
wide='-DSTUB_INT=int64_t -DSTUB_CBLAS=cblas_sgemm -DSTUB_FORTRAN=sgemm_'
mkdir "$tmp/wide"
stub "$tmp/wide/libopenblas64.so.0" wide $wide
stub "$tmp/wide/libmystery.so" mystery $wide -DSTUB_ISAMAX
for file in libopenblas64.so.0 libmystery.so; do
    for call in CBLAS=cblas_sgemm FORTRAN=sgemm_; do
        plugin "$tmp/wide.so" -DCALL_INT=int64_t -DCALL_$call "$tmp/wide/$file" \
            -Wl,-rpath,"$tmp/wide"
        everywhere "$file, $call" "$tmp/main" plugin "$tmp/wide.so" 5
        everywhere "$file beside 32 bits, $call" "$tmp/main" plugin "$tmp/wide.so" 5 \
            plugin "$tmp/one.so" 6 plugin "$tmp/wide.so" 7
        program "$tmp/wide_main" -DCALL_INT=int64_t -DCALL_$call "$tmp/wide/$file" \
            -Wl,-rpath,"$tmp/wide"
        everywhere "program of $file, $call" "$tmp/wide_main" own 5
    done
done

# A plug-in is closed, and another one is mapped at its address: what the library remembered of the
# first must not serve the second, whose integers have another width. Both have the same code, so
# that they call from the same address; small numbers are right in either width. With and without
# build ids.
for id in sha1 none; do
    for call in CBLAS=cblas_sgemm FORTRAN=sgemm_; do
        for name in one mystery; do
            plugin "$tmp/turn$name.so" -DCALL_INT=int64_t -DCALL_$call -DCALL_SMALL \
                -Wl,--build-id=$id -L"$tmp/wide" -Wl,-rpath,"$tmp:$tmp/wide" $link -l$name
        done
        everywhere "one after the other, build id $id, $call" "$tmp/main" hold "$tmp/libone.so" \
            hold "$tmp/wide/libmystery.so" turns "$tmp/turnmystery.so" "$tmp/turnone.so" 5
    done
done

# A program whose name is a FIFO's, and a FIFO as the log.
mkfifo "$tmp/fifo"
compile -DMAIN_GIVEN -DCALL_NAMELESS $call_c -o "$tmp/named" "$srcdir/tests/preload/main.c" \
    "$srcdir/tests/preload/caller.c" -lm -ldl -pthread
everywhere "named like a FIFO" timeout -s KILL 20 "$tmp/named" as "$tmp/fifo" given "$tmp/one.so" 5
preloaded XGEMM_LOG="$tmp/fifo" XGEMM_VERBOSE=2 XGEMM_MODE=cpu timeout -s KILL 20 "$tmp/c" own 5 \
    >"$tmp/out" 2>&1 || fail "a FIFO for a log: exit status $?"

# A library whose constructor and destructor wait for a thread that multiplies, while the dynamic
# linker's lock is held. (Not on the engine, which cannot start under that lock.)
for call in CBLAS=cblas_sgemm FORTRAN=sgemm_; do
    plugin "$tmp/joins.so" -DCALL_INT=int32_t -DCALL_$call -DCALL_JOINS $link -lone -pthread
    same_as_alone "a constructor that joins, $call" timeout -s KILL 20 "$tmp/main" \
        hold "$tmp/libone.so" turns "$tmp/joins.so" "$tmp/joins.so" 5
    program "$tmp/first" $call_c $link -lone
    same_as_alone "the same beside a linked library, $call" timeout -s KILL 20 "$tmp/first" \
        plugin "$tmp/joins.so" 5
done

# A constructor that multiplies itself where the dynamic linker must be asked: its thread holds the
# linker's lock, so another thread that asks would wait for ever.
for call in CBLAS=cblas_sgemm FORTRAN=sgemm_; do
    plugin "$tmp/itself.so" -DCALL_INT=int32_t -DCALL_$call -DCALL_ITSELF $link -lone
    same_as_alone "a constructor beside two libraries, $call" timeout -s KILL 20 "$tmp/main" \
        hold "$tmp/libone.so" hold "$tmp/libtwo.so" turns "$tmp/itself.so" "$tmp/itself.so" 5
done

# --- Wrappers that end in a jump, and pointers: the return address lies in another object ----

# wrapper FILE NAME TARGET [OPTION...]: a plug-in whose function NAME jumps to TARGET.
wrapper() {
    wrapper_file=$1
    wrapper_name=$2
    wrapper_target=$3
    shift 3
    $CC -O2 -Wall -Werror -shared -fPIC -DWRAP_NAME=$wrapper_name -DWRAP_TARGET=$wrapper_target \
        -o "$wrapper_file" "$srcdir/tests/preload/wrapper.c" "$@" || exit 99
}

case $($CC -dumpmachine) in
x86_64*) ;;
*) exit $status ;; # elsewhere only the return address is used
esac
call_given='-DCALL_INT=int32_t -DCALL_FORTRAN=sgemm_ -DCALL_NAMELESS'
for how in plain table r11 O2; do
    case $how in
    plain) options= ;;
    table) options='-O2 -DCALL_TABLE' ;;
    r11) options='-O2 -DCALL_R11' ;; # lazy binding overwrites it
    *) options=-$how ;;
    esac
    compile -DMAIN_GIVEN $call_given $options -o "$tmp/given_$how" "$srcdir/tests/preload/main.c" \
        "$srcdir/tests/preload/caller.c" -lm -ldl -pthread
done
compile -DMAIN_GIVEN -DCALL_NAMELESS $call_c -o "$tmp/given_c" "$srcdir/tests/preload/main.c" \
    "$srcdir/tests/preload/caller.c" -lm -ldl -pthread
plugin "$tmp/given_f.so" $call_given
plugin "$tmp/given_wide.so" -DCALL_INT=int64_t -DCALL_FORTRAN=sgemm_ -DCALL_NAMELESS
wide_link="-L$tmp/wide -Wl,-rpath,$tmp/wide -lmystery"

# One place in a program without a BLAS calls both plug-ins in turns.
for bound in lazy now; do
    for kind in PLT GOT C BODY; do
        wrapper "$tmp/jumps_one.so" jumps sgemm_ -DWRAP_$kind -Wl,-z,$bound $link -lone
        wrapper "$tmp/jumps_two.so" jumps sgemm_ -DWRAP_$kind -Wl,-z,$bound $link -ltwo
        wrapper "$tmp/jumps_wide.so" jumps sgemm_ -DWRAP_$kind -Wl,-z,$bound $wide_link
        objdump -d "$tmp/jumps_one.so" | sed -n '/<jumps>:/,/^$/p' | grep -q 'jmp' ||
            fail "$kind: the wrapper does not end in a jump"
        for how in plain table r11 O2; do
            everywhere "wrappers, $bound, $kind, $how" "$tmp/given_$how" given "$tmp/jumps_one.so" 5 \
                given "$tmp/jumps_two.so" 6 given "$tmp/jumps_one.so" 7 given "$tmp/jumps_two.so" 8
        done
        everywhere "wrappers of both widths, $bound, $kind" "$tmp/main" \
            pointer "$tmp/jumps_wide.so" "$tmp/given_wide.so" 5 \
            pointer "$tmp/jumps_one.so" "$tmp/given_f.so" 6 \
            pointer "$tmp/jumps_wide.so" "$tmp/given_wide.so" 7
        [ $kind = C ] && continue # it has sgemm_'s arguments only
        for name in one two; do
            wrapper "$tmp/jumps_c$name.so" jumps cblas_sgemm -DWRAP_$kind -Wl,-z,$bound $link -l$name
        done
        everywhere "wrappers of the C interface, $bound, $kind" "$tmp/given_c" \
            given "$tmp/jumps_cone.so" 5 given "$tmp/jumps_ctwo.so" 6 given "$tmp/jumps_cone.so" 7
    done
done

# Without a register the library is known if only one plug-in refers to the name, or, with lazy
# binding, if the second one has not called yet. The program is linked to no BLAS.
for bound in lazy now; do
    wrapper "$tmp/mixed.so" jumps sgemm_ -DWRAP_MIXED -Wl,-z,$bound $wide_link
    plugin "$tmp/beside.so" -DCALL_INT=int32_t -DCALL_FORTRAN=other -DCALL_NAMELESS \
        -DCALL_BESIDE=cblas_sgemm $link -ltwo
    everywhere "registers overwritten, $bound" "$tmp/main" hold "$tmp/beside.so" \
        hold "$tmp/libone.so" pointer "$tmp/mixed.so" "$tmp/given_wide.so" 5
done

# A library with a BLAS of its own that refers to the same name calls a wrapper: by a pointer, by
# the wrapper's name, and by a name that leads to it from a third library.
wrapper "$tmp/libjumpone.so" multiply_one sgemm_ $link -lone
wrapper "$tmp/libchain.so" multiply_chain multiply_one $link -ljumpone
wrapper "$tmp/libbody.so" multiply_body sgemm_ -DWRAP_MIXED $link -lone
plugin "$tmp/own_two.so" $call_f $link -ltwo
everywhere "a wrapper's pointer in an object with a BLAS" "$tmp/main" \
    pointer "$tmp/libjumpone.so" "$tmp/own_two.so" 5 plugin "$tmp/own_two.so" 6 \
    pointer "$tmp/libchain.so" "$tmp/own_two.so" 7 plugin "$tmp/own_two.so" 8
for kind in jumpone:multiply_one chain:multiply_chain body:multiply_body; do
    for plt in plt no-plt; do
        plugin "$tmp/by_name.so" -f$plt -DCALL_DIRECT -DCALL_INT=int32_t -DCALL_FORTRAN=${kind#*:} \
            -DCALL_BESIDE=sgemm_ $link -l${kind%:*} -ltwo
        plugin "$tmp/by_name_alone.so" -f$plt -DCALL_DIRECT -DCALL_INT=int32_t -DCALL_FORTRAN=${kind#*:} \
            $link -l${kind%:*}
        # Both libraries are in the first plug-in's scope, where the wrapper's own comes second.
        everywhere "a wrapper by its name, ${kind#*:}, $plt" "$tmp/main" hold "$tmp/own_two.so" \
            plugin "$tmp/own_two.so" 4 plugin "$tmp/by_name_alone.so" 5 plugin "$tmp/own_two.so" 6
        everywhere "the same beside a BLAS, ${kind#*:}, $plt" "$tmp/main" \
            hold "$tmp/libjumpone.so" hold "$tmp/libbody.so" plugin "$tmp/by_name.so" 5 \
            plugin "$tmp/own_two.so" 6
    done
done

# A pointer to the BLAS's function itself, taken in one plug-in and called in another one, which has
# a BLAS but does not refer to the name.
everywhere "a pointer beside another BLAS" "$tmp/main" plugin "$tmp/two.so" 4 \
    pointer "$tmp/one.so" "$tmp/given.so" 5
plugin "$tmp/own_f.so" $call_f $link -lone
plugin "$tmp/beside_two.so" $call_given -DCALL_BESIDE=cblas_sgemm $link -ltwo
everywhere "a pointer in an object that has a BLAS" "$tmp/main" hold "$tmp/beside_two.so" \
    pointer "$tmp/own_f.so" "$tmp/beside_two.so" 5
plugin "$tmp/own_wide.so" -DCALL_INT=int64_t -DCALL_FORTRAN=sgemm_ $wide_link
plugin "$tmp/beside_wide.so" -DCALL_INT=int64_t -DCALL_FORTRAN=sgemm_ -DCALL_NAMELESS \
    -DCALL_BESIDE=cblas_sgemm $link -ltwo
everywhere "a pointer with wide integers" "$tmp/main" hold "$tmp/libone.so" \
    pointer "$tmp/own_wide.so" "$tmp/beside_wide.so" 5

# The program's own BLAS comes first for all, as without the library.
program "$tmp/three" -DMAIN_GIVEN $call_f $link -lplt -pthread
everywhere "wrappers beside the program's own" "$tmp/three" own 4 given "$tmp/jumps_one.so" 5 \
    given "$tmp/jumps_two.so" 6

# Threads: as many calls reach each library as without the preload.
for how in plain table; do
    for run in alone preloaded; do
        case $run in alone) with= ;; *) with='preloaded XGEMM_MODE=cpu' ;; esac
        $with "$tmp/given_$how" beside "$tmp/jumps_one.so" "$tmp/jumps_two.so" 5 2>&1 |
            LC_ALL=C sort | uniq -c >"$tmp/$run"
    done
    diff "$tmp/alone" "$tmp/preloaded" || fail "threads, $how"
    [ "$(grep -c ' 200 ' "$tmp/alone")" -eq 2 ] || fail "threads, $how: the test itself"
done

# A call through %r11 that is no lazy binding. The stack still holds a pointer of an earlier call,
# to memory that exists at the first product and is gone at the second one.
cat >"$tmp/left.s" <<'END'
    .globl left_call
    .type left_call, @function
left_call:
    pushq %rbx
    pushq %r12
    movq %rsp, %rbx
    movq %rdi, %r12
    movq %rsi, %rax
    subq $256, %rsp
    andq $-16, %rsp
    subq $8, %rsp
    pushq 96(%r12)
    pushq 88(%r12)
    pushq 80(%r12)
    pushq 72(%r12)
    pushq 64(%r12)
    pushq 56(%r12)
    pushq 48(%r12)
    movq 0(%r12), %rdi
    movq 8(%r12), %rsi
    movq 16(%r12), %rdx
    movq 24(%r12), %rcx
    movq 32(%r12), %r8
    movq 40(%r12), %r9
    movq %rax, -24(%rsp)
    movq sgemm_@GOTPCREL(%rip), %r11
    call *%r11
    movq %rbx, %rsp
    popq %r12
    popq %rbx
    ret
    .section .note.GNU-stack,"",@progbits
END
cat >"$tmp/left.c" <<'END'
#include <stdio.h>
#include <sys/mman.h>
void left_call(void **words, void *left);
int main(void)
{
    static float a[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1}, c[9], one = 1, zero = 0;
    static int n = 3;
    void *words[] = {"N", "N", &n, &n, &n, &one, a, &n, a, &n, &zero, c, &n};
    void *page = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    left_call(words, page);
    munmap(page, 1 << 20);
    left_call(words, page);
    return printf("%s\n", c[8] == 3 ? "right" : "WRONG") < 0;
}
END
if [ "$XG_SANITIZER" = no ]; then
    compile -o "$tmp/left" "$tmp/left.c" "$tmp/left.s" $link -lone
    same_as_alone "memory that is gone" "$tmp/left"
fi

# Wrappers called by tables on the heap, before and after a filter of system calls (base/sandbox.h).
cat >"$tmp/closed.c" <<'END'
#include <dlfcn.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
typedef void closed_function(const char *, const char *, const void *, const void *, const void *, const void *,
                             const void *, const void *, const void *, const void *, const void *, void *,
                             const void *, size_t, size_t);
struct table {
    void *before[600];
    closed_function *function;
};
__attribute__((noinline)) static int right(struct table *volatile *at)
{
    static float a[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1}, c[9], one = 1, zero = 0;
    static long n = 3;
    struct table *table = *at;
    memset(c, 0xff, sizeof c);
    table->function("N", "N", &n, &n, &n, &one, a, &n, a, &n, &zero, c, &n, 1, 1);
    return c[8] == 3;
}
int main(int argc, char **argv)
{
    struct table *volatile tables[8];
    struct sock_filter code = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog filter = {1, &code};
    int count = argc - 2 < 8 ? argc - 2 : 8;
    for (int i = 0; i < count; i++) {
        void *handle = dlopen(argv[i + 2], RTLD_LAZY);
        tables[i] = malloc(sizeof *tables[i]);
        *(void **)&tables[i]->function = handle ? dlsym(handle, "jumps") : NULL;
    }
    for (int turn = 0; turn < atoi(argv[1]) + 3; turn++) {
        if (turn == atoi(argv[1]) &&
            (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0)))
            return 77;
        for (int i = 0; i < count; i++)
            printf("%s\n", right(&tables[i]) ? "right" : "WRONG");
    }
    return 0;
}
END
if [ "$XG_SANITIZER" = no ]; then
    compile -O2 -o "$tmp/closed" "$tmp/closed.c" -ldl
    for count in 1 2 8; do
        same_as_alone "wrappers in a closed process, after $count" "$tmp/closed" $count "$tmp/jumps_one.so" \
            "$tmp/jumps_two.so" "$tmp/jumps_wide.so"
    done
fi
exit $status
