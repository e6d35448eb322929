// Never ends, without a command.
void solution(const elem_t A[M][K], const elem_t B[K][N], elem_t C[M][N]) {
  for (;;) {
  }
}
