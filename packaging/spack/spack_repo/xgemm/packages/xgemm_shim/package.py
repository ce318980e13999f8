# SPDX-License-Identifier: MIT
"""A Spack package (Spack 1.0 and newer), built from a source tree: doc/howto/cluster.md.

In a public repository of packages the version also has the sha256 of a release, and the class a url and maintainers.
"""
from spack_repo.builtin.build_systems.autotools import AutotoolsPackage
from spack_repo.builtin.build_systems.cuda import CudaPackage

from spack.package import *


class XgemmShim(AutotoolsPackage, CudaPackage):
    """Runs the large matrix products of unmodified programs on an NVIDIA GPU. The library intercepts the
    program's calls of BLAS: xgemm-run PROGRAM."""

    license("MIT")

    version("1.0.0")

    # Kernels need nvcc; the default of CudaPackage is no CUDA.
    variant("cuda", default=True, description="Build the kernels; without: every product runs on the CPU")

    depends_on("c", type="build")
    depends_on("cxx", type="build", when="+cuda")
    depends_on("autoconf", type="build")
    depends_on("automake", type="build")
    depends_on("libtool", type="build")
    depends_on("m4", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("cuda@12:", type="build", when="+cuda")
    # For programs without a BLAS: the library opens it by name when a product first needs it. The path that Spack's
    # compiler writes into linked files finds it.
    depends_on("openblas")

    conflicts("platform=darwin")
    conflicts("platform=windows")

    build_directory = "_build"

    def autoreconf(self, spec, prefix):
        Executable("./bootstrap")()

    def configure_args(self):
        args = ["--with-blas=" + self.spec["openblas"].libs.ld_flags]
        if self.spec.satisfies("~cuda"):
            return args + ["--without-cuda"]
        args.append("--with-cuda=" + self.spec["cuda"].prefix)
        architectures = self.spec.variants["cuda_arch"].value
        if architectures != ("none",):
            args.append("--with-cuda-arch=" + ",".join(self.architecture(each) for each in architectures))
        return args

    @staticmethod
    def architecture(name):
        """Only code for 90a can use Hopper's tensor cores."""
        return "90a" if name == "90" else name

    def check(self):
        """Runs the tests of the engine on the fake driver, which need no installed library and no other programs."""
        with working_dir(self.build_directory):
            make("check-engine")
