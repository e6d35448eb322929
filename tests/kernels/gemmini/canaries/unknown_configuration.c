// A load configuration that doesn't exist.
void solution(const elem_t A[M][K], const elem_t B[K][N], elem_t C[M][N]) {
  config_ld(16, 1.0f, 16, 3);
  fence();
}
