// Goes down without end.
static volatile int depth;
__attribute__((noinline, noclone)) static int down(int n) {
  volatile char room[256];
  room[n & 255] = depth++;
  return down(n + 1) + room[n & 255];
}
void solution(const elem_t A[M][K], const elem_t B[K][N], elem_t C[M][N]) {
  down(0);
  fence();
}
