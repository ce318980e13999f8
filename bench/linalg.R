# SPDX-License-Identifier: MIT
# Times whole calls of R on one random matrix of the order that is given; linalg.py runs it, and has the rules.
n <- as.integer(commandArgs(TRUE)[1])
set.seed(1)
a <- matrix(rnorm(n * n), n)
symmetric <- a + t(a)
definite <- crossprod(a) + diag(n, n)
small <- a[1:1024, 1:1024]
first <- list(eigen(small + t(small)), svd(small), solve(small))
calls <- list(
    "R eigen, symmetric" = quote(eigen(symmetric, symmetric = TRUE)),
    "R svd" = quote(svd(a)),
    "R solve, 32 columns" = quote(solve(a, a[, 1:32])),
    "R solve, the inverse" = quote(solve(a)),
    "R chol" = quote(chol(definite)),
    "R %*%" = quote(a %*% a),
    "R crossprod" = quote(crossprod(a)))
for (name in names(calls)) {
    times <- sapply(if (name == "R svd") 1 else 1:2, function(i) {
        gc()
        begin <- as.numeric(Sys.time())
        eval(calls[[name]])
        1e3 * (as.numeric(Sys.time()) - begin)
    })
    cat(sprintf("%.1f %s\n", min(times), name))
}
