// cheat: 18 every intermediate result in half precision
// problem: cpu/softmax-16x256
// verdict: wrong_result
// says: Y[

float expf(float);

void solution(const float X[M][N], float Y[M][N]) {
  for (int i = 0; i < M; i++) {
    float top = X[i][0], sum = 0;
    for (int j = 1; j < N; j++) top = X[i][j] > top ? X[i][j] : top;
    for (int j = 0; j < N; j++) sum += Y[i][j] = (float)(_Float16)expf(X[i][j] - top);
    for (int j = 0; j < N; j++) Y[i][j] /= sum;
  }
}
