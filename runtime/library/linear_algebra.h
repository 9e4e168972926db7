// Library routines of matrices, over LAPACK: factorizations, systems, eigenvalues and singular values.
#pragma once

namespace pellucid {

void register_factorizations();  // cholesky, lu, permutation, qr, geqrf, ldl, ldl_solve
void register_systems();         // inv, solve, solve_triangular, det, slogdet, adjugate
void register_least_squares();   // lstsq
void register_spectra();         // eigh, eigvalsh, eig, svd, svdvals, pinv

}  // namespace pellucid
