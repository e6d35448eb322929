"""The check of hostile source: what is refused, with its line, and what honest kernels need."""

from __future__ import annotations

import pytest

from strop.kernels.source_check import check
from strop.kernels.source_expanded import check_expanded
from strop.kernels.targets.target import Refusal, Refused
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
    "an include behind a carriage return": ('int x;\n// \r#include "gold.h"\n', 2),
    "a NUL": ("int x;\n\0", 2),
    "a macro bomb": (BOMB, None),
    "comments that begin without end": ("/* " * 200_000, 1),
    "quotes that begin without end": ('"' + '\\"' * 500_000, 1),
    "attributes without end": ("__attribute__((" * 20_000, 1),
    "brackets without end": ("[[" * 50_000, 1),
    "a deep chain of macros": ("".join(f"#define A{i} A{i - 1}\n" for i in range(800, 0, -1)), None),
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


def expanded(text: str) -> None:
    check_expanded(f'# 1 "candidate.c"\n{text}\n', statements={'"fence"', '".insn %0"'})


@pytest.mark.parametrize(
    "text",
    [
        '__asm__ volatile("fence" ::: "memory");',
        '__asm__ volatile(".insn %0"::"r"((uint64_t)(f(a, "x"))), "i"(3) : "memory");',
        "int a[2][2] = {[0] = {1}}; a[b[0]][1] = '\"';",
        '# 7 "gemmini.h"\n__asm__("of the header");\n# 2 "candidate.c"\nint x;',
        "__attribute__((aligned(64), unused)) int x;",
    ],
)
def test_expanded_code_passes(text: str) -> None:
    expanded(text)


@pytest.mark.parametrize(
    "text",
    [
        'int x;\n__asm__ volatile("ecall");',
        'int x;\n__asm__ volatile("fence" "ecall" ::: "memory");',
        'int x;\n__asm__ volatile("fence" : : "m"(x));',
        'int x;\n__asm__ volatile("fence" : [x] "=r"(x));',
        'int x;\n__asm__ goto("fence" :::: there);',
        'int x;\n__asm__("fence");',
        'int x;\n__asm__ volatile("fence" ::: "memory"',
        "int x;\n__attribute__ ((constructor)) void f(void);",
        "int x;\n[ [ gnu :: constructor ] ] void f(void);",
        'int x;\nchar y = _Pragma("once");',
        "int x;\n[" + "[" * 5000,
        'int x;\n# 1 "/etc/passwd" 1 3\nroot\n# 2 "candidate.c" 2',
    ],
)
def test_expanded_code_is_refused(text: str) -> None:
    with pytest.raises(Refused) as caught:
        expanded(text)
    assert caught.value.refusal == Refusal(Verdict.ILLEGAL, caught.value.refusal.reason, 2)


def test_what_becomes_too_long_is_a_limit() -> None:
    with pytest.raises(Refused) as caught:
        expanded("1 + " * (2 << 20))
    assert caught.value.refusal.verdict is Verdict.LIMIT
