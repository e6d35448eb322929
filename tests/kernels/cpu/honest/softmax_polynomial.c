// honest: an exponential of its own, by vectors
// problem: cpu/softmax-16x256

#define W 8
typedef float vector __attribute__((vector_size(4 * W), aligned(4)));
typedef int integers __attribute__((vector_size(4 * W), aligned(4)));

static inline vector power(vector x) {
  const vector low = {-87, -87, -87, -87, -87, -87, -87, -87};
  const integers kept = x > low;
  x = (vector)((kept & (integers)x) | (~kept & (integers)low));
  const vector scaled = x * 1.44269504f;
  const integers whole = __builtin_convertvector(scaled - 0.5f, integers);
  const vector n = __builtin_convertvector(whole, vector);
  const vector r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
  vector p = r * 1.9875691500e-4f + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * r * r + r + 1.0f;
  const integers bits = (whole + 127) << 23;
  return p * (vector)bits;
}

void solution(const float X[M][N], float Y[M][N]) {
  for (int i = 0; i < M; i++) {
    float top = X[i][0];
    for (int j = 1; j < N; j++) top = X[i][j] > top ? X[i][j] : top;
    vector sums = {0};
    for (int j = 0; j < N; j += W) {
      const vector made = power(*(const vector *)&X[i][j] - top);
      *(vector *)&Y[i][j] = made;
      sums += made;
    }
    float sum = 0;
    for (int k = 0; k < W; k++) sum += sums[k];
    const float scale = 1 / sum;
    for (int j = 0; j < N; j++) Y[i][j] *= scale;
  }
}
