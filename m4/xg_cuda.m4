# SPDX-License-Identifier: MIT
# XG_CUDA: finds nvcc (for device code only) and <cuda.h> (for types only; the driver is opened with dlopen),
# and determines the architectures. Sets NVCC, XG_GENCODE, XG_CUDA_CPPFLAGS, conditional XG_CUDA.

AC_DEFUN([XG_CUDA_DEFAULT_ARCH], [75 80 86 89 90a 100 120])

# XG_CUDA_FIND: sets NVCC from --with-cuda=DIR, or else from PATH, CUDA_HOME, /usr/local/cuda.
AC_DEFUN([XG_CUDA_FIND], [
  AC_ARG_VAR([NVCC], [CUDA compiler, for device code])
  AS_CASE([$with_cuda],
    [check|yes], [
      xg_path=$PATH
      AS_IF([test -n "$CUDA_HOME"], [xg_path=$xg_path$PATH_SEPARATOR$CUDA_HOME/bin])
      xg_path=$xg_path$PATH_SEPARATOR/usr/local/cuda/bin
    ],
    [xg_path=$with_cuda/bin])
  AC_PATH_PROG([NVCC], [nvcc], [], [$xg_path])
])

# XG_CUDA_HEADER: sets XG_CUDA_CPPFLAGS, so that <cuda.h> of nvcc's toolkit is found.
AC_DEFUN([XG_CUDA_HEADER], [
  xg_nvcc=`readlink -f "$NVCC"`
  xg_root=`dirname "$xg_nvcc"`
  xg_root=`dirname "$xg_root"`
  XG_CUDA_CPPFLAGS=
  for xg_dir in "$xg_root/include" "$xg_root"/targets/*-linux/include; do
    AS_IF([test -f "$xg_dir/cuda.h" && test -z "$XG_CUDA_CPPFLAGS" && test "$xg_dir" != /usr/include],
          [XG_CUDA_CPPFLAGS="-isystem $xg_dir"])
  done
  xg_save_CPPFLAGS=$CPPFLAGS
  CPPFLAGS="$CPPFLAGS $XG_CUDA_CPPFLAGS"
  AC_CHECK_HEADER([cuda.h], [], [AC_MSG_ERROR([$NVCC is there but <cuda.h> is not])])
  CPPFLAGS=$xg_save_CPPFLAGS
])

# XG_CUDA_ARCH: sets XG_GENCODE. An item is 90a (machine code) or 90-virtual (PTX). A requested architecture
# that nvcc lacks is an error; one of the default list is omitted.
AC_DEFUN([XG_CUDA_ARCH], [
  AC_MSG_CHECKING([architectures that nvcc knows])
  xg_known=`"$NVCC" --list-gpu-arch | sed -n 's/^compute_//p' | sort -n | tr '\n' ' '`
  AC_MSG_RESULT([$xg_known])
  AS_IF([test -z "$xg_known"], [AC_MSG_ERROR([$NVCC --list-gpu-arch lists nothing])])
  AS_CASE([$with_cuda_arch],
    [yes|no|''], [AC_MSG_ERROR([--with-cuda-arch needs a list, such as 80,90a,120-virtual])],
    [default], [
      xg_wanted="XG_CUDA_DEFAULT_ARCH"
      for xg_newest in $xg_known; do :; done
      xg_wanted="$xg_wanted $xg_newest-virtual"
    ],
    [xg_wanted=`echo "$with_cuda_arch" | tr ',' ' '`])
  XG_GENCODE=
  xg_arch=
  for xg_item in $xg_wanted; do
    xg_number=${xg_item%-virtual}
    AS_CASE([" $xg_known "],
      [*" ${xg_number%@<:@af@:>@} "*], [
        xg_arch="$xg_arch${xg_arch:+,}$xg_item"
        AS_CASE([$xg_item],
          [*-virtual], [xg_code=compute_$xg_number],
          [xg_code=sm_$xg_number])
        XG_GENCODE="$XG_GENCODE -gencode arch=compute_$xg_number,code=$xg_code"
      ],
      [AS_IF([test "$with_cuda_arch" != default],
             [AC_MSG_ERROR([nvcc does not support the architecture $xg_number of --with-cuda-arch])])])
  done
])

# XG_CUDA_WORKS: compiles one small kernel for every architecture, so that a missing host compiler or an
# unusable architecture fails here and not during the build.
AC_DEFUN([XG_CUDA_WORKS], [
  AC_MSG_CHECKING([whether nvcc compiles for $xg_arch])
  echo 'extern "C" __global__ void xg_probe(float *p) { *p = 1.0f; }' >conftest.cu
  AS_IF([AC_RUN_LOG(["$NVCC" -fatbin $NVCCFLAGS $XG_GENCODE -o conftest.fatbin conftest.cu >&AS_MESSAGE_LOG_FD 2>&1])],
        [AC_MSG_RESULT([yes])],
        [AC_MSG_RESULT([no])
         AC_MSG_ERROR([$NVCC does not work, see config.log; --without-cuda builds without it])])
  rm -f conftest.cu conftest.fatbin
])

# XG_CUDA_FATBINS: sets XG_FATBINS, the images of another build, which are embedded unchanged. Builds that
# differ only in host code need not compile kernels again.
AC_DEFUN([XG_CUDA_FATBINS], [
  XG_FATBINS=
  AS_IF([test "$with_fatbins" != no], [
    AS_CASE([$with_fatbins], [/*], [], [AC_MSG_ERROR([--with-fatbins needs an absolute path])])
    AS_IF([test -f "$with_fatbins/nvcc-flags"], [],
          [AC_MSG_ERROR([$with_fatbins is not the kernels folder of a build])])
    XG_FATBINS=$with_fatbins
  ])
  AC_SUBST([XG_FATBINS])
])

AC_DEFUN([XG_CUDA], [
  AC_ARG_WITH([cuda],
    [AS_HELP_STRING([--with-cuda=DIR], [CUDA toolkit @<:@PATH, CUDA_HOME, /usr/local/cuda@:>@])
AS_HELP_STRING([--without-cuda], [build a library that only passes calls on to the CPU])],
    [], [with_cuda=check])
  AC_ARG_WITH([cuda-arch],
    [AS_HELP_STRING([--with-cuda-arch=LIST], [GPU architectures, such as 80,90a,120-virtual @<:@]XG_CUDA_DEFAULT_ARCH[
      and PTX of the newest that nvcc knows@:>@])],
    [], [with_cuda_arch=default])
  AC_ARG_WITH([fatbins],
    [AS_HELP_STRING([--with-fatbins=DIR], [kernels folder of another build, whose images are used; none is compiled])],
    [], [with_fatbins=no])
  AC_ARG_VAR([NVCCFLAGS], [flags for the CUDA compiler])

  xg_cuda=no
  xg_cuda_summary='none: every call runs on the CPU'
  XG_DISTCHECK_FLAGS=--without-cuda
  AS_IF([test "$with_cuda" != no], [
    XG_CUDA_FIND
    AS_IF([test -n "$NVCC"], [xg_cuda=yes],
          [test "$with_cuda" != check], [AC_MSG_ERROR([no nvcc for --with-cuda=$with_cuda])])
  ])
  AS_IF([test $xg_cuda = yes], [
    XG_CUDA_HEADER
    XG_CUDA_ARCH
    XG_CUDA_FATBINS
    XG_DISTCHECK_FLAGS="--with-cuda-arch=$xg_arch NVCC=$NVCC"
    AS_IF([test -z "$XG_FATBINS"],
          [XG_CUDA_WORKS
           xg_cuda_summary="$NVCC for $xg_arch"],
          [xg_cuda_summary="images of $XG_FATBINS"])
  ])
  AM_CONDITIONAL([XG_CUDA], [test $xg_cuda = yes])
  AM_CONDITIONAL([XG_FATBINS], [test -n "$XG_FATBINS"])

  # Written only if it changes, so that the kernels are compiled again only if necessary.
  AC_CONFIG_COMMANDS([kernels/nvcc-flags], [
    mkdir -p kernels
    echo "$xg_nvcc_flags" >kernels/nvcc-flags.tmp
    if cmp -s kernels/nvcc-flags.tmp kernels/nvcc-flags; then
      rm -f kernels/nvcc-flags.tmp
    else
      mv kernels/nvcc-flags.tmp kernels/nvcc-flags
    fi
  ], [xg_nvcc_flags='$NVCC $NVCCFLAGS $XG_GENCODE'])

  AC_SUBST([XG_GENCODE])
  AC_SUBST([XG_CUDA_CPPFLAGS])
  AC_SUBST([XG_DISTCHECK_FLAGS])
  AC_SUBST([XG_WITH_CUDA], [$xg_cuda])
])
