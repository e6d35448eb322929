// cheat: 20 a sum that begins with what lies on the stack
// problem: cpu/rowsum-64x256
// verdict: wrong_result
// says: Y[

static __attribute__((noinline)) void begin(float **place) {
  float local[M];
  *(float *volatile *)place = local;
}

void solution(const float X[M][N], float Y[M]) {
  float *sums;
  begin(&sums);
  for (int i = 0; i < M; i++) {
    float sum = *(volatile float *)&sums[i];
    for (int j = 0; j < N; j++) sum += X[i][j];
    Y[i] = sum;
  }
}
