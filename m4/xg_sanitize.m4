# SPDX-License-Identifier: MIT
# XG_SANITIZE: --enable-sanitizer, and -z defs without a sanitizer (a sanitizer's symbols come from the
# program, so a library built with one has undefined symbols by design).
AC_DEFUN([XG_SANITIZE], [
  AC_ARG_ENABLE([sanitizer],
    [AS_HELP_STRING([--enable-sanitizer=LIST], [build with sanitizers, for tests: address, undefined, both
                                                as address,undefined, or thread])],
    [xg_sanitizer=$enableval], [xg_sanitizer=no])
  AS_CASE([$xg_sanitizer],
    [address|undefined|address,undefined|thread], [
      XG_LINKS([-fsanitize=$xg_sanitizer], [whether $CC has the $xg_sanitizer sanitizer], [],
               [AC_MSG_ERROR([$CC does not link with -fsanitize=$xg_sanitizer])])
      XG_SANITIZE_FLAGS="-fsanitize=$xg_sanitizer -fno-omit-frame-pointer -g -DXG_SANITIZED=1"
      AS_CASE([$xg_sanitizer],
              [*undefined], [XG_SANITIZE_FLAGS="$XG_SANITIZE_FLAGS -fno-sanitize-recover=undefined"])
      XG_CFLAGS="$XG_CFLAGS $XG_SANITIZE_FLAGS"
      XG_LDFLAGS="$XG_LDFLAGS $XG_SANITIZE_FLAGS"
    ],
    [no], [
      XG_LINKS([-Wl,-z,defs], [whether the linker takes -z defs],
               [XG_LDFLAGS="$XG_LDFLAGS -Wl,-z,defs"])
      XG_LINKS([-Wl,--as-needed], [whether the linker takes --as-needed],
               [XG_LDFLAGS="$XG_LDFLAGS -Wl,--as-needed"])
    ],
    [AC_MSG_ERROR([--enable-sanitizer does not accept $xg_sanitizer])])
  AC_SUBST([XG_SANITIZER], [$xg_sanitizer])
  AM_CONDITIONAL([XG_THREAD_SANITIZER], [test $xg_sanitizer = thread])
])
