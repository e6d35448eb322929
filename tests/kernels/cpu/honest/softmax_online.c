// honest: maximum and sum in one pass
// problem: cpu/softmax-16x256

float expf(float);

void solution(const float X[M][N], float Y[M][N]) {
  for (int i = 0; i < M; i++) {
    float top = X[i][0], sum = 1;
    for (int j = 1; j < N; j++) {
      const float x = X[i][j];
      if (x > top) {
        sum = sum * expf(top - x) + 1;
        top = x;
      } else {
        sum += expf(x - top);
      }
    }
    for (int j = 0; j < N; j++) Y[i][j] = expf(X[i][j] - top) / sum;
  }
}
