"""Right kernels: written by hand with small variations, and random schedules of a right GEMM."""

from __future__ import annotations

import random
from collections.abc import Iterator

from strop.kernels.registry import problem

GEMM = "void solution(const elem_t A[M][K], const elem_t B[K][N], elem_t C[M][N]) {\n"
LEAST = "#define LEAST(a, b) ((a) < (b) ? (a) : (b))\n"

# (loops from outside, what is brought in where): tiles of DIM, ragged ends allowed.
TILES = """\
  config_ex({dataflow}, NO_ACTIVATION, {a_stride}, {a_turned}, {b_turned});
  config_ld({a_row}, 1.0f, DIM, 0);
  config_ld({b_row}, 1.0f, DIM, 1);
  config_st(N);
"""


def tiled(order: str = "ijk", *, fenced: bool = False, twice: bool = False, configured: bool = False) -> str:
    """All loops over tiles; with K not innermost partial sums stay in the accumulator, so C must fit it."""
    loops = {"i": "M", "j": "N", "k": "K"}
    inside = "\n".join(f"  for (int {axis} = 0; {axis} < {loops[axis]}; {axis} += DIM)" for axis in order)
    again = "    config_ld(K, 1.0f, DIM, 0);\n    config_ld(N, 1.0f, DIM, 1);\n" if configured else ""
    if order == "ijk" or order == "jik":
        sums = "0x80000000"
    else:
        sums = "(0x80000000 + i / DIM * ((N + DIM - 1) / DIM) * DIM + j)"
    flip = "int turn = 0;\n" if twice else ""
    a = "(turn & 1) * 64" if twice else "0"
    b = "(turn & 1) * 64 + DIM" if twice else "DIM"
    step = "      turn++;\n" if twice else ""
    fence = "      fence();\n" if fenced else ""
    stored = (
        "  for (int i = 0; i < M; i += DIM)\n    for (int j = 0; j < N; j += DIM)\n"
        f"      mvout(&C[i][j], {sums}, LEAST(N - j, DIM), LEAST(M - i, DIM));\n"
    )
    body = f"""{inside} {{
{again}      const int rows = LEAST(M - i, DIM), cols = LEAST(N - j, DIM), deep = LEAST(K - k, DIM);
      mvin(&A[i][k], {a}, deep, rows);
      mvin2(&B[k][j], {b}, cols, deep);
      preload({b}, {sums} | (k == 0 ? 0 : 0x40000000), cols, deep, cols, rows);
      compute_preloaded({a}, GARBAGE_ADDR, deep, rows, DIM, DIM);
{step}{fence}"""
    if sums == "0x80000000":
        body += f"      if (k + DIM >= K) mvout(&C[i][j], {sums}, cols, rows);\n  }}\n"
    else:
        body += "  }\n" + stored
    head = TILES.format(
        dataflow="WEIGHT_STATIONARY", a_stride=1, a_turned="false", b_turned="false", a_row="K", b_row="N"
    )
    return LEAST + GEMM + head + "  " + flip + body + "  fence();\n}\n"


def output_stationary() -> str:
    """Sums stay in the array for all of K."""
    return (
        LEAST
        + GEMM
        + """\
  config_ex(OUTPUT_STATIONARY, NO_ACTIVATION, 1, false, false);
  config_ld(K, 1.0f, DIM, 0);
  config_ld(N, 1.0f, DIM, 1);
  config_st(N);
  for (int i = 0; i < M; i += DIM)
    for (int j = 0; j < N; j += DIM) {
      const int rows = LEAST(M - i, DIM), cols = LEAST(N - j, DIM);
      for (int k = 0; k < K; k += DIM) {
        const int deep = LEAST(K - k, DIM);
        mvin(&A[i][k], k % 64, deep, rows);
        mvin2(&B[k][j], 4096 + k % 64, cols, deep);
        preload(GARBAGE_ADDR, k + DIM < K ? GARBAGE_ADDR : 0x80000000, cols, rows, cols, rows);
        if (k == 0)
          compute_preloaded(k % 64, 4096 + k % 64, deep, rows, cols, deep);
        else
          compute_accumulated(k % 64, 4096 + k % 64, deep, rows, cols, deep);
      }
      mvout(&C[i][j], 0x80000000, cols, rows);
    }
  fence();
}
"""
    )


def resident(wide: int, *, keep: bool, b_first: bool = False, bank: int = 4096) -> str:
    """Everything is brought in first, `wide` tiles at a time, then multiplied, then stored."""
    load_a = f"""  for (int i = 0; i < M; i += DIM)
    for (int k = 0; k < K; k += {wide} * DIM)
      mvin(&A[i][k], i * KT + k, LEAST(K - k, {wide} * DIM), LEAST(M - i, DIM));
"""
    load_b = f"""  for (int k = 0; k < K; k += DIM)
    for (int j = 0; j < N; j += {wide} * DIM)
      mvin2(&B[k][j], {bank} + k * NT + j, LEAST(N - j, {wide} * DIM), LEAST(K - k, DIM));
"""
    kept = "i == 0 ? b : GARBAGE_ADDR" if keep else "b"
    compute = (
        "if (i == 0) compute_preloaded(a, GARBAGE_ADDR, deep, rows, DIM, DIM);\n"
        "        else compute_accumulated(a, GARBAGE_ADDR, deep, rows, DIM, DIM);"
        if keep
        else "compute_preloaded(a, GARBAGE_ADDR, deep, rows, DIM, DIM);"
    )
    return (
        LEAST
        + "#define KT ((K + DIM - 1) / DIM)\n#define NT ((N + DIM - 1) / DIM)\n"
        + GEMM
        + "  config_ex(WEIGHT_STATIONARY, NO_ACTIVATION, 1, false, false);\n  config_ld(K, 1.0f, DIM, 0);\n"
        + "  config_ld(N, 1.0f, DIM, 1);\n  config_st(N);\n"
        + (load_b + load_a if b_first else load_a + load_b)
        + f"""  for (int j = 0; j < N; j += DIM)
    for (int k = 0; k < K; k += DIM)
      for (int i = 0; i < M; i += DIM) {{
        const int rows = LEAST(M - i, DIM), cols = LEAST(N - j, DIM), deep = LEAST(K - k, DIM);
        const uint32_t a = i * KT + k, b = {bank} + k * NT + j;
        preload({kept}, (0x80000000 + i * NT + j) | (k ? 0x40000000 : 0), cols, deep, cols, rows);
        {compute}
      }}
  for (int i = 0; i < M; i += DIM)
    for (int j = 0; j < N; j += 4 * DIM)
      mvout(&C[i][j], 0x80000000 + i * NT + j, LEAST(N - j, 4 * DIM), LEAST(M - i, DIM));
  fence();
}}
"""
    )


def biased() -> str:
    """Zeros come into the accumulator first, and every product is added."""
    return tiled().replace(
        "      mvin2(", "      if (k == 0) mvin3(0, 0x80000000, cols, rows);\n      mvin2("
    ).replace("(k == 0 ? 0 : 0x40000000)", "0x40000000").replace(
        "  config_st(N);", "  config_ld(4 * DIM, 1.0f, DIM, 2);\n  config_st(N);"
    )  # fmt: skip


def twice_configured() -> str:
    """The same by functions, static data, a table and a switch: ordinary C."""
    return tiled(configured=True).replace(
        GEMM,
        "static const uint8_t order[4] = {0, 1, 2, 3};\nstatic int calls;\n"
        "static inline __attribute__((always_inline)) int turned(int i) { return order[i & 3]; }\n" + GEMM,
    ).replace("  fence();\n}", "  calls += turned(calls);\n  fence();\n}")  # fmt: skip


def unrolled() -> str:
    """One command of the unroller for everything that fits."""
    return (
        GEMM
        + """\
  config_ex(WEIGHT_STATIONARY, NO_ACTIVATION, 1, false, false);
  gemmini_extended3_config_ld(K, 1.0f, false, 0);
  gemmini_extended3_config_ld(N, 1.0f, false, 1);
  gemmini_extended3_config_ld(0, 1.0f, false, 2);
  config_st(N);
  gemmini_loop_ws((M + DIM - 1) / DIM, (N + DIM - 1) / DIM, (K + DIM - 1) / DIM, (DIM - M % DIM) % DIM,
                  (DIM - N % DIM) % DIM, (DIM - K % DIM) % DIM, A, B, 0, C, K, N, 0, N, 0, 0, 0, 0, 0,
                  NO_ACTIVATION, 0, 0, 0);
  fence();
}
"""
    )


def honest() -> Iterator[tuple[str, str, str]]:
    """Yield (name, problem, code)."""
    sizes = ("32x32x32", "16x16x16", "33x17x29", "1x1x1", "48x16x80", "5x64x3")
    for size in sizes:
        id = f"gemmini/gemm-{size}"
        yield f"start-{size}", id, problem(id).starts["naive"]
        yield f"library-{size}", id, problem(id).starts["tiled"]
        yield f"resident-{size}", id, resident(4, keep=True)
        yield f"os-{size}", id, output_stationary()
    ragged = "gemmini/gemm-40x36x50"
    for order in ("ijk", "jik", "ikj", "kij", "jki", "kji"):
        yield f"order-{order}", ragged, tiled(order)
        yield f"order-{order}-two-buffers", ragged, tiled(order, twice=True)
    yield "fence-each-step", ragged, tiled(fenced=True)
    yield "fence-each-step-k-outside", ragged, tiled("kij", fenced=True)
    yield "configured-each-step", ragged, tiled(configured=True)
    yield "bias-of-zeros", ragged, biased()
    yield "ordinary-c", ragged, twice_configured()
    for wide in (1, 2, 3, 4):
        yield f"resident-{wide}-wide", ragged, resident(wide, keep=False, b_first=wide % 2 == 0)
    yield "resident-one-bank", ragged, resident(4, keep=True, bank=1024)
    yield "resident-last-bank", ragged, resident(4, keep=True, bank=3 * 4096)
    yield "unfenced-end", ragged, tiled().replace("  fence();\n}", "}")
    yield "spare-commands", ragged, tiled().replace("      preload(", "      gemmini_flush(0);\n      preload(")
    yield "unroll-pragma", ragged, tiled().replace("  for (int k", "#pragma GCC unroll 4\n  for (int k")
    yield "own-macro", ragged, "#define TILE DIM\n" + tiled().replace("+= DIM", "+= TILE")
    yield (
        "counters",
        ragged,
        tiled().replace("  fence();\n}", "  int n;\n  gemmini_counter_access(n, 1);\n  fence();\n}"),
    )
    for size in ("16x16x16", "64x64x64", "33x17x29"):
        yield f"fsm-{size}", f"gemmini/gemm-{size}+fsm", unrolled()
        yield f"fsm-allowed-unused-{size}", f"gemmini/gemm-{size}+fsm", tiled()
    for id in (
        "gemmini/conv-b1-h5-w5-c3-k5-r3-s1-p1", "gemmini/conv-b2-h9-w7-c16-k8-r3-s2-p1",
        "gemmini/conv-b1-h6-w6-c20-k17-r1-s1-p0", "gemmini/conv-b1-h8-w8-c4-k4-r5-s3-p2", "gemmini/resadd-50x37",
        "gemmini/resadd-1x1", "gemmini/resadd-64x64", "gemmini/attention-s16-d16", "gemmini/attention-s32-d16",
        "gemmini/tinympc-forward-5", "gemmini/tinympc-backward-10", "gemmini/tinympc-chain-3",
    ):  # fmt: skip
        yield id.removeprefix("gemmini/"), id, problem(id).start_code
    for which in ("forward-4", "backward-4"):
        id = f"gemmini/tinympc-{which}"
        code = problem(id).start_code
        begin, end = code.index("// y = A x"), code.index("static void begin")
        on_core = (
            "static void product(const elem_t *A, const elem_t *x, elem_t *y, int m, int k) {\n"
            "  for (int i = 0; i < m; i++) {\n    float sum = 0;\n"
            "    for (int j = 0; j < k; j++) sum += A[i * k + j] * x[j];\n    y[i] = sum;\n  }\n}\n\n"
        )
        yield f"{which}-on-the-core", id, code[:begin] + on_core + code[end:]


def random_gemm(seed: int) -> tuple[str, str]:
    """Return (problem, code): sizes, tiles, order, places in the scratchpad, dataflow and fences by chance."""
    rng = random.Random(seed)
    m, n, k = (rng.choice((rng.randint(1, 20), rng.randint(1, 50), 16, 32)) for _ in range(3))
    ti, tj, tk = (rng.randint(1, 16) for _ in range(3))
    os = rng.random() < 0.25
    sums_inside = os or rng.random() < 0.5
    a_rows = [rng.randrange(0, 16384 - 16) for _ in range(rng.randint(1, 4))]
    free = (rng.randrange(0, 16384 - 16) for _ in range(64))
    b_rows = [row for row in free if all(abs(row - a) >= 16 for a in a_rows)][: rng.randint(1, 4)]
    tiles_n = -(-n // tj)
    if not sums_inside and -(-m // ti) * tiles_n * 16 > 1024:
        sums_inside = True
    orders = ("ijk", "jik") if sums_inside else ("ijk", "jik", "ikj", "kij", "jki", "kji")
    order = rng.choice(orders)
    at = rng.randrange(0, 1024 - 16)
    steps = {"i": ("M", ti), "j": ("N", tj), "k": ("K", tk)}
    loops = "\n".join(f"  for (int {x} = 0; {x} < {steps[x][0]}; {x} += {steps[x][1]})" for x in order)
    sums = f"(0x80000000 + {at})" if sums_inside else f"(0x80000000 + (i / {ti} * {tiles_n} + j / {tj}) * 16)"
    table = "".join(
        f"static const uint16_t {name}[] = {{{', '.join(map(str, rows))}}};\n"
        for name, rows in (("a_rows", a_rows), ("b_rows", b_rows))
    )
    table += "static unsigned turn;\n"
    fences = ["      fence();\n" if rng.random() < 0.15 else "" for _ in range(4)]
    if os:
        deep_step = f"""      preload(GARBAGE_ADDR, k + {tk} < K ? GARBAGE_ADDR : {sums}, cols, rows, cols, rows);
      if (k == 0) compute_preloaded(a, b, deep, rows, cols, deep);
      else compute_accumulated(a, b, deep, rows, cols, deep);
"""
    else:
        deep_step = f"""      preload(b, {sums} | (k == 0 ? 0 : 0x40000000), cols, deep, cols, rows);
      compute_preloaded(a, GARBAGE_ADDR, deep, rows, DIM, DIM);
"""
    loads = ["      mvin(&A[i][k], a, deep, rows);\n", f"      mvin{rng.choice((2, 3))}(&B[k][j], b, cols, deep);\n"]
    rng.shuffle(loads)
    out = f"mvout(&C[i][j], {sums}, cols, rows);"
    code = (
        LEAST
        + table
        + GEMM
        + f"""  config_ex({"OUTPUT" if os else "WEIGHT"}_STATIONARY, NO_ACTIVATION, 1, false, false);
  config_ld(K, 1.0f, DIM, 0);
  config_ld(N, 1.0f, DIM, 1);
  config_ld(N, 1.0f, DIM, 2);
  config_st(N);
{loops} {{
      const int rows = LEAST(M - i, {ti}), cols = LEAST(N - j, {tj}), deep = LEAST(K - k, {tk});
      const uint32_t a = a_rows[turn % {len(a_rows)}], b = b_rows[turn % {len(b_rows)}];
      turn++;
{fences[0]}{loads[0]}{fences[1]}{loads[1]}{fences[2]}{deep_step}{fences[3]}"""
        + (f"      if (k + {tk} >= K) {out}\n  }}\n" if sums_inside else "  }\n")
        + (
            ""
            if sums_inside
            else f"""  for (int i = 0; i < M; i += {ti})
    for (int j = 0; j < N; j += {tj}) {{
      const int rows = LEAST(M - i, {ti}), cols = LEAST(N - j, {tj});
      {out}
    }}
"""
        )
        + ("  fence();\n" if rng.random() < 0.8 else "")
        + "}\n"
    )
    return f"gemmini/gemm-{m}x{n}x{k}", code
