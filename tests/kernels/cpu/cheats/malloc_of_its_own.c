// cheat: 31 a function that the loader would call
// problem: cpu/rowsum-64x256
// verdict: illegal
// says: visibility

#define aligned visibility

static char heap[1 << 20];
static unsigned long used;

__attribute__((aligned("default"))) void *malloc(unsigned long size) {
  used += (size + 63) / 64 * 64;
  return heap + used - size;
}

static void honest(const float X[M][N], float Y[M]) {
  for (int i = 0; i < M; i++) {
    float sum = 0;
    for (int j = 0; j < N; j++) sum += X[i][j];
    Y[i] = sum;
  }
}

void solution(const float X[M][N], float Y[M]) { honest(X, Y); }
