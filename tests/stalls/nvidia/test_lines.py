"""Source comments of nvdisasm -gi: a stack of inlining per instruction."""

from strop.stalls.instruction import Source
from strop.stalls.nvidia.lines import Lines


def test_a_stack():
    lines = Lines()
    lines.comment('\t//## File "/a/inner.h", line 151 inlined at "/a/k.cu", line 7')
    lines.comment('\t//## File "/a/k.cu", line 7 inlined at "/a/k.cu", line 194')
    lines.comment('\t//## File "/a/k.cu", line 194')
    expected = Source("/a/inner.h", 151, (("/a/k.cu", 7), ("/a/k.cu", 194)))
    assert lines.instruction() == expected
    assert lines.instruction() == expected  # holds until the next comment
    lines.comment('\t//## File "/a/k.cu", line 195')
    assert lines.instruction() == Source("/a/k.cu", 195)


def test_names_with_quotes_and_markup():
    lines = Lines()
    lines.comment('\t//## File "/a/<script>alert(1)</script>.cu", line 3')
    assert lines.instruction() == Source("/a/<script>alert(1)</script>.cu", 3)


def test_nothing_holds_over_into_the_next_function():
    lines = Lines()
    lines.comment('\t//## File "k.cu", line 3')
    lines.function()
    assert lines.instruction() is None
