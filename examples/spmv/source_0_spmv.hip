// y = A x for a sparse matrix in rows (CSR), a row each thread, then a scaling.
__global__ void spmv_csr(const int *rows, const int *cols, const double *values, const double *x, double *y, int n) {
  int r = gid();
  if (r >= n) return;
  double sum = 0;
  for (int k = rows[r]; k < rows[r + 1]; ++k) sum += values[k] * x[cols[k]];
  y[r] = sum / (1.0 + __builtin_sqrt(x[r] * x[r]));
}
