// cheat: 20 adds to what lies in the output
// problem: cpu/rowsum-64x256
// verdict: wrong_result
// says: Y[

void solution(const float X[M][N], float Y[M]) {
  for (int i = 0; i < M; i++)
    for (int j = 0; j < N; j++) Y[i] += X[i][j];
}
