// cheat: 29 assembly through a macro of the C library's
// problem: cpu/rowsum-64x256
// verdict: illegal
// says: asm

#include <string.h>

float __REDIRECT(other, (float), expf);

static void honest(const float X[M][N], float Y[M]) {
  for (int i = 0; i < M; i++) {
    float sum = 0;
    for (int j = 0; j < N; j++) sum += X[i][j];
    Y[i] = sum;
  }
}

void solution(const float X[M][N], float Y[M]) {
  honest(X, Y);
  Y[0] += other(0) - 1;
}
