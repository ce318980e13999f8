# SPDX-License-Identifier: MIT
# The files of the wheel run on glibc 2.28: no name that they need has a newer version.
. "$srcdir/tests/gate/lib"
[ "$XG_WITH_WHEEL" = yes ] || skip "this build makes no wheel"

# check FILE: checks each version that it needs, and the library that should have it.
check() {
    $READELF -VW "$1" 2>/dev/null | awk -v file="$1" '
    /^Version needs/ { needs = 1; next }
    /^Version / { needs = 0 }
    !needs { next }
    {
        for (i = 1; i < NF; i++) {
            if ($i == "File:")
                library = $(i + 1)
            if ($i == "Name:")
                judge($(i + 1))
        }
    }
    function judge(name,   part) {
        count++
        if (library !~ /^(libc\.so|libm\.so|libdl\.so|libpthread\.so|ld-linux.*\.so)\.[0-9]+$/ ||
            name !~ /^GLIBC_[0-9.]+$/) {
            print file ": needs " name " of " library
            bad = 1
        }
        split(substr(name, 7), part, ".")
        if (part[1] > 2 || part[2] > 28) {
            print file ": needs " name " of " library ", which glibc 2.28 lacks"
            bad = 1
        }
    }
    END {
        if (!count)
            print file ": needs nothing of glibc"
        exit bad || !count
    }'
}

passes "$builddir/python/.libs/libxgemm_shim.so"
for program in "$builddir"/python/xgemm-* "$builddir"/python/.libs/xgemm-*.so; do
    case $program in
    *.la) ;;
    *) passes "$program" ;;
    esac
done

# Refused: a name of a newer libc, a name of another library, and a file that is no program.
cd "$gate_tmp" || exit 99
echo 'int xg_new(void); int xg_new(void) { return 0; }' >new.c
echo 'int xg_new(void); int xg_user(void); int xg_user(void) { return xg_new(); }' >user.c
for counterfeit in libc.so.6:GLIBC_2.29 libc.so.6:GLIBC_3.1 libgcc_s.so.1:GCC_3.0; do
    echo "${counterfeit#*:} { global: xg_new; };" >new.map
    $CC -shared -fPIC -Wl,-soname,"${counterfeit%:*}" -Wl,--version-script=new.map -o libnew.so new.c ||
        exit 99
    $CC -shared -fPIC -nostdlib -o user user.c ./libnew.so || exit 99
    refuses ./user
done
refuses new.c

# Built for an old glibc, a program runs its constructors itself, since its start file does not.
cat >start.c <<'END'
#include <stdio.h>
static int constructed;
__attribute__((constructor)) static void construct(int argc, char **argv)
{
    constructed += argc == 2 && argv[1][0] == 'x';
}
int main(void)
{
    printf("%d\n", constructed);
    return 0;
}
END
$CC -o start start.c "$srcdir/python/start.c" -L"$builddir/python/glibc" \
    -Wl,--wrap=__libc_start_main || exit 99
passes start
[ "$(./start x)" = 1 ] || { echo "FAIL: constructors run $(./start x) times, not once"; status=1; }

# libc sets __environ; a program's environ is the same variable under each of its names.
cat >names.c <<'END'
extern char **environ, **__environ;
int main(void)
{
    return !(environ && *environ && environ == __environ);
}
END
sed 's/, \*\*__environ//; s/ && environ == __environ//' names.c >name.c
for source in names.c name.c; do
    $CC -o name "$source" "$srcdir/python/start.c" -L"$builddir/python/glibc" \
        -Wl,--wrap=__libc_start_main || exit 99
    passes name
    ./name || { echo "FAIL: $source finds no environment"; status=1; }
done
exit $status
