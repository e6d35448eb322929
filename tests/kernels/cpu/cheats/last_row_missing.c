// cheat: 19 all rows but the last
// problem: cpu/rowsum-64x256
// verdict: wrong_result
// says: Y[63]

void solution(const float X[M][N], float Y[M]) {
  for (int i = 0; i < M - 1; i++) {
    float sum = 0;
    for (int j = 0; j < N; j++) sum += X[i][j];
    Y[i] = sum;
  }
}
