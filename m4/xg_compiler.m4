# SPDX-License-Identifier: MIT
# XG_COMPILER: warnings, symbol visibility and link checks, for the compilers that support them.
# Sets XG_CFLAGS, XG_LDFLAGS, XG_LIBS and never touches the user's CFLAGS and LDFLAGS.

# XG_CFLAG(FLAG): adds FLAG to XG_CFLAGS if the compiler accepts it.
AC_DEFUN([XG_CFLAG], [
  AS_VAR_PUSHDEF([cache], [xg_cv_cflag_$1])
  AC_CACHE_CHECK([whether $CC takes $1], [cache], [
    xg_save_CFLAGS=$CFLAGS
    CFLAGS="$CFLAGS -Werror $1"
    AC_COMPILE_IFELSE([AC_LANG_PROGRAM], [AS_VAR_SET([cache], [yes])], [AS_VAR_SET([cache], [no])])
    CFLAGS=$xg_save_CFLAGS
  ])
  AS_VAR_IF([cache], [yes], [XG_CFLAGS="$XG_CFLAGS $1"])
  AS_VAR_POPDEF([cache])
])

# XG_LINKS(LDFLAGS, WHAT, [IF-YES], [IF-NO]): whether a program links with LDFLAGS.
AC_DEFUN([XG_LINKS], [
  AC_MSG_CHECKING([$2])
  xg_save_LDFLAGS=$LDFLAGS
  LDFLAGS="$LDFLAGS $1"
  AC_LINK_IFELSE([AC_LANG_PROGRAM], [xg_links=yes], [xg_links=no])
  LDFLAGS=$xg_save_LDFLAGS
  AC_MSG_RESULT([$xg_links])
  AS_IF([test $xg_links = yes], [$3], [$4])
])

AC_DEFUN([XG_COMPILER], [
  XG_CFLAGS=-std=gnu11
  XG_LDFLAGS=
  m4_foreach_w([xg_flag], [-Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes
    -Wpointer-arith -Wwrite-strings -Wvla -Wundef -Wformat=2 -Wno-format-nonliteral],
    [XG_CFLAG(xg_flag)])
  XG_CFLAG([-fvisibility=hidden])
  # Round products and sums separately, even if CFLAGS name a processor with fused multiply-add: beta C must
  # not depend on the loop that computes an element.
  XG_CFLAG([-ffp-contract=off])

  # Libraries that are separate in glibc before 2.34; elsewhere they add nothing.
  xg_save_LIBS=$LIBS
  LIBS=
  AC_SEARCH_LIBS([dlopen], [dl], [], [AC_MSG_ERROR([no dlopen])])
  AC_SEARCH_LIBS([pthread_create], [pthread], [], [AC_MSG_ERROR([no pthread_create])])
  XG_LIBS=$LIBS
  LIBS=$xg_save_LIBS

  AC_SUBST([XG_CFLAGS])
  AC_SUBST([XG_LDFLAGS])
  AC_SUBST([XG_LIBS])
])
