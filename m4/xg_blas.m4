# SPDX-License-Identifier: MIT
# XG_BLAS: finds the CPU BLAS to which tests, benchmarks and examples link, which xgemm-shim.pc names, and
# whose soname the library opens with dlopen if the program has none. The library itself never links to it.
# Sets XG_BLAS_CFLAGS, XG_BLAS_LIBS, conditional XG_BLAS, and defines XG_DEFAULT_CPU_BLAS.
# xgemm-shim.pc requires XG_PC_REQUIRES if the BLAS has its own .pc file, and otherwise names XG_PC_LIBS.

# XG_BLAS_LINKS([IF-YES], [IF-NO]): whether cblas_sgemm is in XG_BLAS_LIBS; xg_blas_soname is its soname.
AC_DEFUN([XG_BLAS_LINKS], [
  AC_MSG_CHECKING([for cblas_sgemm in $XG_BLAS_LIBS])
  xg_save_LIBS=$LIBS
  LIBS="$XG_BLAS_LIBS $LIBS"
  AC_LINK_IFELSE([AC_LANG_CALL([], [cblas_sgemm])], [
    xg_links=yes
    xg_blas_soname=`"$READELF" -d conftest$EXEEXT | sed -n 's/.*(NEEDED).*\@<:@\(.*\)\@:>@.*/\1/p' |
      grep -v -e '^libc\.' -e '^libm\.' -e '^libpthread\.' -e '^libdl\.' -e '^libgcc' -e '^ld-linux' |
      sed 1q`
  ], [xg_links=no])
  LIBS=$xg_save_LIBS
  AC_MSG_RESULT([$xg_links])
  AS_IF([test $xg_links = yes], [$1], [$2])
])

AC_DEFUN([XG_BLAS], [
  AC_ARG_WITH([blas],
    [AS_HELP_STRING([--with-blas=LIBS], [CPU BLAS with a C interface, such as -lblis @<:@OpenBLAS, or another installed one@:>@])],
    [], [with_blas=check])
  PKG_PROG_PKG_CONFIG
  xg_blas=no
  xg_blas_soname=
  XG_PC_REQUIRES=
  AS_CASE([$with_blas],
    [no], [],
    [check|yes], [
      PKG_CHECK_MODULES([OPENBLAS], [openblas], [
        XG_BLAS_CFLAGS=$OPENBLAS_CFLAGS
        XG_BLAS_LIBS=$OPENBLAS_LIBS
        XG_BLAS_LINKS([xg_blas=yes
                       XG_PC_REQUIRES=openblas])
      ], [:])
      for xg_lib in -lopenblas -lcblas -lblas -lblis; do
        AS_IF([test $xg_blas = no], [
          XG_BLAS_CFLAGS=
          XG_BLAS_LIBS=$xg_lib
          XG_BLAS_LINKS([xg_blas=yes])
        ])
      done
    ],
    [ XG_BLAS_CFLAGS=
      XG_BLAS_LIBS=$with_blas
      XG_BLAS_LINKS([xg_blas=yes]) ])
  AS_IF([test $xg_blas = no], [
    AS_CASE([$with_blas], [no|check], [], [AC_MSG_ERROR([no cblas_sgemm for --with-blas=$with_blas])])
    XG_BLAS_CFLAGS=
    XG_BLAS_LIBS=
  ])
  XG_PC_LIBS=
  AS_IF([test -z "$XG_PC_REQUIRES"], [XG_PC_LIBS=$XG_BLAS_LIBS])
  AS_IF([test -z "$xg_blas_soname"], [xg_blas_soname=libopenblas.so.0])
  AS_IF([test $xg_blas = yes], [xg_blas_summary="$XG_BLAS_LIBS, at run time $xg_blas_soname"],
        [xg_blas_summary="none to test with, at run time $xg_blas_soname"])
  AC_DEFINE_UNQUOTED([XG_DEFAULT_CPU_BLAS], ["$xg_blas_soname"],
                     [Soname of the CPU BLAS when the program brings none.])
  AM_CONDITIONAL([XG_BLAS], [test $xg_blas = yes])
  AC_SUBST([XG_BLAS_CFLAGS])
  AC_SUBST([XG_BLAS_LIBS])
  AC_SUBST([XG_PC_REQUIRES])
  AC_SUBST([XG_PC_LIBS])
  AC_SUBST([XG_CPU_BLAS], [$xg_blas_soname])
])
