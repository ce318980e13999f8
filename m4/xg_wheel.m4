# SPDX-License-Identifier: MIT
# XG_WHEEL: whether this build can make the Python wheel: with glibc, because the wheel links to an older
# version of it (python/glibc_stubs), and without a sanitizer. Sets conditional XG_WHEEL; use after
# XG_SANITIZE.
AC_DEFUN([XG_WHEEL], [
  AC_CACHE_CHECK([whether the C library is glibc], [xg_cv_glibc], [
    AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[#include <stdlib.h>
#ifndef __GLIBC__
#error another C library
#endif]])], [xg_cv_glibc=yes], [xg_cv_glibc=no])
  ])
  AS_IF([test "$xg_cv_glibc,$xg_sanitizer" = yes,no], [xg_wheel=yes], [xg_wheel=no])
  AM_CONDITIONAL([XG_WHEEL], [test $xg_wheel = yes])
  AC_SUBST([XG_WITH_WHEEL], [$xg_wheel])
])
