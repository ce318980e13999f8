# SPDX-License-Identifier: MIT
using LinearAlgebra
using Test
using XGEMM

agree(a, b) = norm(a - b) <= sqrt(eps(real(eltype(a)))) * norm(b)

# Products with vectors are not the library's, so they check its products of matrices.
function products_agree(T, n)
    a, b, x = rand(T, n, n), rand(T, n, n), rand(T, n)
    u = UpperTriangular(a) + n * I
    return agree((a * b) * x, a * (b * x)) && agree((a' * a) * x, a' * (a * x)) &&
           agree((u * b) * x, u * (b * x)) && agree(u * ((u \ b) * x), b * x)
end

function routines_agree(T, n)
    a, x = rand(T, n, n), rand(T, n)
    g, s, p = a + n * I, Hermitian(a + a'), Hermitian(a * a' + n * I)
    values, vectors = eigen(s)
    u, w, v = svd(a)
    return agree(g * (g \ x), x) &&
           agree(cholesky(p).L * (cholesky(p).U * x), p * x) &&
           agree(Matrix(qr(a).Q) * (qr(a).R * x), a * x) &&
           agree(vectors * (Diagonal(values) * (vectors' * x)), s * x) &&
           agree(u * (Diagonal(w) * (v' * x)), a * x)
end

@testset "$T, $n" for T in (Float32, Float64, ComplexF32, ComplexF64), n in (20, 400)
    @test products_agree(T, n)
    @test routines_agree(T, n)
end

@testset "threads" begin
    @test all(fetch.([Threads.@spawn products_agree(Float64, 300) for _ in 1:8]))
end

@testset "stats" begin
    @test occursin("gemm", string(XGEMM.stats()))
end

@testset "disable and enable" begin
    name = Base.USE_BLAS64 ? :ilp64 : :lp64
    ours = BLAS.lbt_get_forward("dgemm_", name)
    count = XGEMM.disable()
    @test count > 0
    @test BLAS.lbt_get_forward("dgemm_", name) != ours
    @test products_agree(Float64, 100)
    @test XGEMM.enable() == count
    @test XGEMM.enable() == count
    @test BLAS.lbt_get_forward("dgemm_", name) == ours
    @test products_agree(Float64, 100)
end
