// cheat: 32 a macro that becomes a billion words
// problem: cpu/rowsum-64x256
// verdict: illegal
// says: macro

#define A 1, 1, 1, 1, 1, 1, 1, 1, 1, 1
#define B A, A, A, A, A, A, A, A, A, A
#define D B, B, B, B, B, B, B, B, B, B
#define E D, D, D, D, D, D, D, D, D, D
#define F E, E, E, E, E, E, E, E, E, E
#define G F, F, F, F, F, F, F, F, F, F
#define H G, G, G, G, G, G, G, G, G, G
static const char bomb[] = {H};

void solution(const float X[M][N], float Y[M]) { Y[0] = bomb[0]; }
