# SPDX-License-Identifier: MIT
"""Runs Spack's recipe without Spack: packages.py PACKAGE.PY prints its version and what it passes to configure.

Spack's directives are only recorded. A name that spack.package does not export is an error.
"""
import os
import sys
import types

DIRECTIVES = ("conflicts", "depends_on", "license", "variant", "version")
told = {name: [] for name in DIRECTIVES}


def module(name, **content):
    made = types.ModuleType(name)
    vars(made).update(content)
    sys.modules[name] = made


def directive(name):
    return lambda *arguments, **named: told[name].append((arguments, named))


class Spec(dict):
    """xgemm-shim with the variants, and the parts of other packages that the recipe uses."""
    def __init__(self, cuda, architectures):
        super().__init__(openblas=types.SimpleNamespace(libs=types.SimpleNamespace(ld_flags="-L/b/lib -lopenblas")),
                         cuda=types.SimpleNamespace(prefix="/c"))
        self.cuda = cuda
        self.variants = {"cuda_arch": types.SimpleNamespace(value=architectures)}

    def satisfies(self, text):
        return {"+cuda": self.cuda, "~cuda": not self.cuda}[text]


def load(path):
    base = type("AutotoolsPackage", (), {})
    for folder in ("spack", "spack_repo", "spack_repo.builtin", "spack_repo.builtin.build_systems"):
        module(folder)
    module("spack_repo.builtin.build_systems.autotools", AutotoolsPackage=base)
    module("spack_repo.builtin.build_systems.cuda", CudaPackage=type("CudaPackage", (), {}))
    module("spack.package", Executable=None, working_dir=None, make=None, **{name: directive(name) for name in DIRECTIVES})
    names = {}
    with open(path, encoding="utf-8") as file:
        exec(compile(file.read(), path, "exec"), names)
    name = os.path.basename(os.path.dirname(os.path.abspath(path)))
    return names["".join(word.capitalize() for word in name.split("_"))]


def arguments(package, cuda, *architectures):
    made = package()
    made.spec = Spec(cuda, architectures)
    return made.configure_args()


def main():
    package = load(sys.argv[1])
    (version,), named = told["version"][0]
    assert len(told["version"]) == 1 and not named, told["version"]
    assert [named["default"] for (name,), named in told["variant"] if name == "cuda"] == [True]
    print("version", version)
    for options in (arguments(package, False), arguments(package, True, "none"), arguments(package, True, "80", "90", "120")):
        print("configure", *(option.replace(" ", "_") for option in options))


main()
