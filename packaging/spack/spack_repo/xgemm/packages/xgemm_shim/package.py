# SPDX-License-Identifier: MIT
"""A Spack package (Spack 1.0 and newer), built from a source tree: doc/howto/cluster.md.

In a repository of packages the version gets the sha256 of a release, and the class its url and maintainers.
"""
from spack_repo.builtin.build_systems.autotools import AutotoolsPackage
from spack_repo.builtin.build_systems.cuda import CudaPackage

from spack.package import *


class XgemmShim(AutotoolsPackage, CudaPackage):
    """Runs the large matrix products of unmodified programs on an NVIDIA GPU. The library stands in
    front of the program's own BLAS: xgemm-run PROGRAM."""

    license("MIT")

    version("0.1.0")

    # Kernels need nvcc; CudaPackage's own default is to do without.
    variant("cuda", default=True, description="Build the kernels; without: every product runs on the CPU")

    depends_on("c", type="build")
    depends_on("cxx", type="build", when="+cuda")
    depends_on("autoconf", type="build")
    depends_on("automake", type="build")
    depends_on("libtool", type="build")
    depends_on("m4", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("cuda@12:", type="build", when="+cuda")
    # For programs that bring no BLAS: opened by its name when the first product asks for it, and found by the path that
    # Spack's compiler writes into what it links.
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
        """Hopper's tensor cores are reached by code for 90a alone."""
        return "90a" if name == "90" else name

    def check(self):
        """What needs no library installed and no other programs: the engine, over the fake driver."""
        with working_dir(self.build_directory):
            make("check-engine")
