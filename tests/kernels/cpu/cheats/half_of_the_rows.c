// cheat: 19 half of the rows
// problem: cpu/rowsum-64x256
// verdict: wrong_result
// says: Y[

void solution(const float X[M][N], float Y[M]) {
  for (int i = 0; i < M / 2; i++) {
    float sum = 0;
    for (int j = 0; j < N; j++) sum += X[i][j];
    Y[i] = Y[i + M / 2] = sum;
  }
}
