// honest: a buffer from malloc
// problem: cpu/softmax-16x256

#include <math.h>
#include <stdlib.h>

void solution(const float X[M][N], float Y[M][N]) {
  float *powers = malloc(N * sizeof *powers);
  for (int i = 0; i < M; i++) {
    float top = -INFINITY, sum = 0;
    for (int j = 0; j < N; j++) top = fmaxf(top, X[i][j]);
    for (int j = 0; j < N; j++) sum += powers[j] = expf(X[i][j] - top);
    for (int j = 0; j < N; j++) Y[i][j] = powers[j] / sum;
  }
  free(powers);
}
