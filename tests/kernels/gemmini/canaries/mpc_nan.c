// Returns what compares with nothing.
void solution(const elem_t A[NX][NX], const elem_t B[NX][NU], const elem_t Kinf[NU][NX], const elem_t d[N][NU], elem_t x[N + 1][NX], elem_t u[N][NU]) {
  for (int i = 0; i < N; i++)
    for (int j = 0; j < NU; j++) u[i][j] = __builtin_nanf("");
  for (int i = 1; i <= N; i++)
    for (int j = 0; j < NX; j++) x[i][j] = __builtin_nanf("");
}
