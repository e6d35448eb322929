// honest: the C library's exponential
// problem: cpu/softmax-16x256

float expf(float);

void solution(const float X[M][N], float Y[M][N]) {
  for (int i = 0; i < M; i++) {
    float top = X[i][0], sum = 0;
    for (int j = 1; j < N; j++)
      if (X[i][j] > top) top = X[i][j];
    for (int j = 0; j < N; j++) {
      Y[i][j] = expf(X[i][j] - top);
      sum += Y[i][j];
    }
    for (int j = 0; j < N; j++) Y[i][j] /= sum;
  }
}
