"""The check of hostile source: what is refused, with its line, and what honest kernels need."""

from __future__ import annotations

import pytest

from strop.kernels.source_check import check
from strop.kernels.targets.target import Refused
from strop.values.verdict import Verdict

HONEST = """
#define TILE 16
#define AT(i, j) ((i) * TILE + (j))
#if TILE > 8 /* a comment that says #include <x> */
static inline __attribute__((always_inline)) int next(int i) { return i + 1; }  // asm
#endif
[[gnu::noinline]] static void part(void) {}
_Alignas(64) static char pad[64] __attribute__((aligned(64), unused));
void solution(void) {
#pragma GCC unroll 4
  for (int i = 0; i < 4; i = next(i)) part();
  const char *text = "asm(\\"nop\\") #include ";
  (void)text;
}
"""

BOMB = "#define A0 1 1 1 1 1 1 1 1\n" + "".join(f"#define A{i} {f'A{i - 1} ' * 8}\n" for i in range(1, 12))

REFUSED = {
    "include": ('int x;\n#include "gold.h"\n', 2),
    "include by a digraph": ("%:include <stdio.h>\n", 1),
    "include over two lines": ("#inc\\\nlude <stdio.h>\n", 1),
    "include behind a comment": ("/* a */ # /* b */ include <stdio.h>\n", 1),
    "include_next": ("#include_next <stdio.h>\n", 1),
    "embed": ("const char c[] = {\n#embed </etc/passwd>\n};\n", 2),
    "line": ('#line 1 "gemmini.h"\n', 1),
    "pragma": ('\n#pragma GCC optimize("O0")\n', 2),
    "pragma operator": ('_Pragma("once")\n', 1),
    "asm": ('void solution(void) { asm volatile("csrw mcycle, x0"); }\n', 1),
    "asm with underscores": ('void f(void) {\n__asm__("ecall"); }\n', 2),
    "asm over two lines": ('void f(void) { as\\\nm("ecall"); }\n', 1),
    "asm in a macro": ('#define DO asm\nvoid f(void) { DO("ecall"); }\n', 1),
    "asm by pasting": ('#define J(a, b) a##b\nvoid f(void) { J(as, m)("ecall"); }\n', 1),
    "a constructor": ("__attribute__((constructor)) void f(void) {}\n", 1),
    "a constructor with underscores": ("int x;\n__attribute__((__constructor__(101))) void f(void) {}\n", 2),
    "a constructor among others": ("__attribute__((unused, constructor)) void f(void) {}\n", 1),
    "a constructor in brackets": ("[[gnu::constructor]] void f(void) {}\n", 1),
    "a section": ('__attribute__((section(".init_array"))) void *p = 0;\n', 1),
    "an alias": ('void g(void) __attribute__((alias("f")));\n', 1),
    "an ifunc": ('void g(void) __attribute__((ifunc("f")));\n', 1),
    "a trigraph": ("??=include <stdio.h>\n", 1),
    "the time of day": ("const char *t = __TIME__;\n", 1),
    "a file's presence": ('#if __has_include("/etc/passwd")\n#endif\n', 1),
    "an open comment": ("int x;\n/* never\n", 2),
    "a NUL": ("int x;\n\0", 2),
    "a macro bomb": (BOMB, None),
    "too long": ("/*" + "x" * (1 << 20) + "*/", None),
}  # fmt: skip


def test_honest_code_passes() -> None:
    check(HONEST)


@pytest.mark.parametrize(("code", "line"), REFUSED.values(), ids=REFUSED.keys())
def test_refused(code: str, line: int | None) -> None:
    with pytest.raises(Refused) as caught:
        check(code)
    assert caught.value.refusal.verdict is Verdict.ILLEGAL
    if line is not None:
        assert caught.value.refusal.line == line


def test_a_target_adds_its_own_words() -> None:
    check("int clone;")
    with pytest.raises(Refused, match="clone: no"):
        check("int clone;", names={"clone": "no"})
