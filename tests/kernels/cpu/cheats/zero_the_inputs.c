// cheat: 17 makes the inputs zero, and then the results
// problem: cpu/rowsum-64x256
// verdict: input_changed
// says: X

void solution(const float X[M][N], float Y[M]) {
  float *inputs = (float *)X;
  for (int i = 0; i < M * N; i++) inputs[i] = 0;
  for (int i = 0; i < M; i++) Y[i] = 0;
}
