# SPDX-License-Identifier: MIT
"""
Runs large products and LAPACK routines of this process on an NVIDIA GPU, through libxgemm_shim.

`using XGEMM` is enough. Julia calls BLAS and LAPACK through libblastrampoline; the package makes its functions lead to
libxgemm_shim, and libxgemm_shim calls the functions that they led to before for all that stays on the CPU.
`XGEMM.stats()` says what ran where. `XGEMM.disable()` undoes it.

The library is `ENV["XGEMM_SHIM_LIB"]`, or else `libxgemm_shim.so.0` where the dynamic linker finds it.
"""
module XGEMM

using Libdl
using LinearAlgebra: BLAS

const _library = Ref{Ptr{Cvoid}}(C_NULL)

function _open()
    _library[] == C_NULL || return _library[]
    Sys.islinux() || error("XGEMM: libxgemm_shim runs on Linux only")
    file = get(ENV, "XGEMM_SHIM_LIB", "")
    handle = dlopen(isempty(file) ? "libxgemm_shim.so.0" : file; throw_error = false)
    handle === nothing && error(
        "XGEMM: cannot open $(isempty(file) ? "libxgemm_shim.so.0" : file): set the environment variable " *
        "XGEMM_SHIM_LIB to the path of libxgemm_shim.so",
    )
    if dlsym(handle, :xgemm_lbt_forward; throw_error = false) === nothing
        error("XGEMM: $(dlpath(handle)) is of a release without xgemm_lbt_forward")
    end
    ccall(dlsym(handle, :xgemm_account_keep), Cvoid, ())
    return _library[] = handle
end

function _forward(on::Bool)
    library = _open()
    BLAS.lbt_get_config()  # opens Julia's BLAS if nothing has called it
    trampolines = dlopen(only(filter(path -> startswith(basename(path), "libblastrampoline"), dllist())))
    return Int(
        ccall(
            dlsym(library, :xgemm_lbt_forward),
            Cint,
            (Ptr{Cvoid}, Ptr{Cvoid}, Cint),
            dlsym(trampolines, :lbt_get_forward),
            dlsym(trampolines, :lbt_set_forward),
            on,
        ),
    )
end

"""
    XGEMM.enable() -> Int

Makes BLAS and LAPACK lead to the library, and returns the number of functions. `using XGEMM` calls it. Call it again
after `BLAS.lbt_forward`, which undoes it: for example after `using MKL`.
"""
enable() = _forward(true)

"""
    XGEMM.disable() -> Int

Makes BLAS and LAPACK lead to the functions that they led to before, and returns the number of functions.
"""
disable() = _forward(false)

"""
What `XGEMM.stats()` returns; `show` and `string` give the table.
"""
struct Stats
    text::String
end

Base.show(io::IO, stats::Stats) = print(io, isempty(stats.text) ? "xgemm: no products so far" : stats.text)

"""
    XGEMM.stats() -> XGEMM.Stats

Says which products and routines of this process ran where, and why: the account that `XGEMM_STATS=1` prints at the end.
"""
function stats()
    text = dlsym(_open(), :xgemm_account_text)
    bytes = ccall(text, Csize_t, (Ptr{UInt8}, Csize_t), C_NULL, 0)
    buffer = zeros(UInt8, bytes + 1)
    ccall(text, Csize_t, (Ptr{UInt8}, Csize_t), buffer, length(buffer))
    return Stats(GC.@preserve buffer unsafe_string(pointer(buffer)))
end

function __init__()
    # Not while another package that uses this one is compiled.
    ccall(:jl_generating_output, Cint, ()) == 0 && enable()
    return nothing
end

end
