# SPDX-License-Identifier: MIT
# A CMake project finds the installed library, also by pkg-config and after a move, and links it
# before a BLAS in whichever order it names them. Its programs run in its build tree.
. "$srcdir/tests/install/lib"
needs_tool cmake
install_to "$tmp/own"
libraries
version=$(sed -n 's/^Version: //p' "$libdir/pkgconfig/xgemm-shim.pc")

mkdir "$tmp/project"
cat >"$tmp/project/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.13)
project(program C)
find_package(xgemm-shim \${WANTED} REQUIRED)
add_executable(in_front $srcdir/tests/install/program.c)
target_link_libraries(in_front PRIVATE xgemm::shim $tmp/libone.so)
add_executable(behind $srcdir/tests/install/program.c)
target_link_libraries(behind PRIVATE $tmp/libone.so xgemm::shim)
add_executable(through $srcdir/tests/install/program.c)
target_compile_definitions(through PRIVATE PROGRAM_CALLS)
target_link_libraries(through PRIVATE $tmp/libmiddle.so xgemm::shim)
# A program has the dependencies of its static libraries.
add_library(part STATIC $srcdir/tests/install/program.c)
target_compile_definitions(part PRIVATE PROGRAM_LIBRARY)
target_link_libraries(part PRIVATE xgemm::shim)
add_executable(from_part $srcdir/tests/install/program.c)
target_compile_definitions(from_part PRIVATE PROGRAM_CALLS)
target_link_libraries(from_part PRIVATE $tmp/libone.so part)
if(BY_PKG_CONFIG)
    find_package(PkgConfig REQUIRED)
    pkg_check_modules(XGEMM REQUIRED IMPORTED_TARGET xgemm-shim)
    add_executable(by_pkg_config $srcdir/tests/install/program.c)
    target_link_libraries(by_pkg_config PRIVATE $tmp/libone.so PkgConfig::XGEMM)
endif()
END

# configures FOLDER OPTION...
configures() {
    env CC="$CC" cmake -S "$tmp/project" -B "$@" >"$tmp/log" 2>&1
}

# builds FOLDER PROGRAM...
builds() {
    folder=$1
    shift
    cmake --build "$folder" >"$tmp/log" 2>&1 || { cat "$tmp/log"; fail "$folder is not built"; return; }
    for program; do
        in_front "$folder/$program"
        seen "$folder/$program"
    done
}

by_pkg_config=OFF
! command -v pkg-config >/dev/null || ! flags --exists || by_pkg_config=ON
export PKG_CONFIG_PATH="$libdir/pkgconfig"
programs='in_front behind through from_part'
configures "$tmp/build" -DCMAKE_PREFIX_PATH="$tmp/own" -DWANTED="$version" \
    -DBY_PKG_CONFIG=$by_pkg_config -DCMAKE_EXE_LINKER_FLAGS=-Wl,--as-needed || {
    cat "$tmp/log"
    fail "the project is not configured"
}
[ $by_pkg_config = OFF ] || programs="$programs by_pkg_config"
builds "$tmp/build" $programs

for wanted in 99 0.0.1 "$version.1" ${version%%.*}.99; do
    ! configures "$tmp/other" -DCMAKE_PREFIX_PATH="$tmp/own" -DWANTED="$wanted" ||
        fail "$version is taken for $wanted"
    grep -q xgemm-shim "$tmp/log" || { cat "$tmp/log"; fail "version $wanted: another error"; }
    rm -rf "$tmp/other"
done

mv "$tmp/own" "$tmp/moved"
configures "$tmp/again" -DCMAKE_PREFIX_PATH="$tmp/moved" -DWANTED="${version%.*}" || { cat "$tmp/log"; fail "moved: not found"; }
builds "$tmp/again" in_front
find_libdir "$tmp/moved"
rm "$libdir"/libxgemm_shim.so
! configures "$tmp/gone" -DCMAKE_PREFIX_PATH="$tmp/moved" || fail "found without the library"
grep -q "libxgemm_shim.so does not exist" "$tmp/log" || { cat "$tmp/log"; fail "without it: another error"; }
exit $status
