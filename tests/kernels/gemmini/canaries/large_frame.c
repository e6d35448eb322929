// Has a frame that reaches over all of memory.
void solution(const elem_t A[M][K], const elem_t B[K][N], elem_t C[M][N]) {
  volatile char room[20 << 20];
  for (long i = 0; i < sizeof room; i += 64) room[i] = 1;
  fence();
}
