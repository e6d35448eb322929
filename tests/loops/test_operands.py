"""Arrays at the edge: what is taken, what is refused and how, and where the values lie."""

from __future__ import annotations

import sys
import types
from typing import Any

import numpy as np
import pytest

from strop.errors import (
    BadDtype,
    BadOutput,
    ByteOrder,
    ContradictedSize,
    IntegerOperand,
    MissingOperand,
    MixedTypes,
    NotAnArray,
    OperandCount,
    OverlappingOutput,
    ReadOnlyOutput,
    StropError,
    UnevenStrides,
    UnknownOperand,
    WrongRank,
)
from strop.loops.operands import (
    adopt,
    adopt_epilogue,
    adopt_operands,
    adopt_output,
    alignment,
    check_shapes,
    layout_of,
    to_library_of,
)
from strop.values.contraction import Contraction
from strop.values.layout import Layout

MATMUL = Contraction.parse("mk,kn->mn", m=2, k=3, n=4)


class Foreign:
    """A library's array that shares its memory by DLPack."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def __dlpack__(self, **options: Any) -> Any:
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()


class OnlyArray:
    """A library's array that NumPy can only convert; ``copies`` says whether it does so by copying."""

    def __init__(self, array: Any, copies: bool) -> None:
        self.array, self.copies = array, copies

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return self.array.copy() if self.copies else self.array


class Refusing:
    """Like a tensor with a gradient or on another device."""

    def __dlpack__(self, **options: Any) -> Any:
        raise BufferError("no export")

    def __dlpack_device__(self) -> Any:
        return (1, 0)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        raise RuntimeError("Can't call numpy() on Tensor that requires grad")


def single(*shape: int) -> Any:
    return np.ones(shape, np.float32)


@pytest.mark.parametrize("wrap", [lambda a: a, Foreign, lambda a: OnlyArray(a, copies=False)])
def test_memory_is_shared(wrap: Any) -> None:
    array = single(3, 4)
    assert np.shares_memory(adopt(wrap(array), name="Operand 1"), array)


def test_subclasses_become_plain() -> None:
    with pytest.warns(PendingDeprecationWarning):
        matrix = np.matrix([[1.0, 2.0]])
    assert type(adopt(matrix, name="Operand 1")) is np.ndarray


@pytest.mark.parametrize(
    ("value", "error", "said"),
    [
        ([1.0, 2.0], NotAnArray, ["Operand 1", "list", "__dlpack__"]),
        (3.0, NotAnArray, ["float"]),
        (None, NotAnArray, ["NoneType"]),
        (Refusing(), NotAnArray, ["requires grad", ".detach()"]),
        (np.ma.masked_array([1.0], [True]), NotAnArray, ["masked"]),
        (np.ones(3, np.int64), IntegerOperand, ["int64", ".astype('float32')"]),
        (np.ones(3, bool), IntegerOperand, ["bool"]),
        (np.ones(3, np.uint8), IntegerOperand, ["uint8"]),
        (np.ones(3, np.float16), BadDtype, ["float16", "operand 1", ".astype('float32')"]),
        (np.ones(3, complex), BadDtype, ["complex128"]),
        (np.array([None]), BadDtype, ["object"]),
        (np.array(["a"]), BadDtype, ["str"]),
        (np.ones(3, np.dtype("f4").newbyteorder()), ByteOrder, ["byte order", ".astype('float32')"]),
        (np.zeros(3, [("a", "f4"), ("b", "i1")])["a"], UnevenStrides, ["(5,)", "ascontiguousarray"]),
        (np.zeros(13, np.uint8)[1:].view(np.float32), UnevenStrides, ["address"]),
    ],
)
def test_refused(value: Any, error: type[StropError], said: list[str]) -> None:
    with pytest.raises(error) as caught:
        adopt(value, name="Operand 1")
    for word in said:
        assert word in str(caught.value)


def test_one_type_for_all() -> None:
    arrays = adopt_operands([single(2, 3), Foreign(single(3, 4))])
    assert [array.dtype.name for array in arrays] == ["float32", "float32"]
    with pytest.raises(MixedTypes, match="Operand 2 is float64, but operand 1 is float32"):
        adopt_operands([single(2, 3), np.ones((3, 4))])
    with pytest.raises(MixedTypes, match="Operand 1 is float32, but dtype is float64"):
        adopt_operands([single(2, 3)], dtype="float64")


def test_shapes() -> None:
    check_shapes(MATMUL, [single(2, 3), single(3, 4)])
    with pytest.raises(ContradictedSize, match=r"Operand 2, dimension 1 \(n\)"):
        check_shapes(MATMUL, [single(2, 3), single(3, 5)])
    with pytest.raises(WrongRank, match="Operand 1"):
        check_shapes(MATMUL, [single(6), single(3, 4)])
    with pytest.raises(OperandCount):
        check_shapes(MATMUL, [single(2, 3)])
    window = Contraction.parse("2h+r, r -> h", h=3, r=3)
    check_shapes(window, [single(8), single(3)])
    with pytest.raises(ContradictedSize):
        check_shapes(window, [single(9), single(3)])


def test_epilogue_operands() -> None:
    c = Contraction.parse("mk,kn->mn", m=2, k=3, n=4, epilogue="relu(x + bias[n]) * scale")
    bias, scale = adopt_epilogue(c, {"scale": 2, "bias": single(4)})
    assert (bias.shape, scale.shape, scale.dtype.name, float(scale)) == ((4,), (), "float32", 2.0)
    cases: list[tuple[dict[str, Any], type[StropError], str]] = [
        ({"bias": single(4)}, MissingOperand, "'scale'"),
        ({"bias": None, "scale": 1.0}, MissingOperand, "'bias'"),
        ({"bias": single(4), "scale": 1.0, "extra": single(1)}, UnknownOperand, "'extra'"),
        ({"bias": single(5), "scale": 1.0}, ContradictedSize, r"bias, dimension 0 \(n\)"),
        ({"bias": single(2, 4), "scale": 1.0}, WrongRank, "bias"),
        ({"bias": np.ones(4), "scale": 1.0}, MixedTypes, "bias is float64"),
        ({"bias": np.ones(4, int), "scale": 1.0}, IntegerOperand, "bias"),
        ({"bias": 1.0, "scale": 1.0}, NotAnArray, "bias"),
        ({"bias": single(4), "scale": True}, NotAnArray, "scale"),
    ]
    for named, error, said in cases:
        with pytest.raises(error, match=said):
            adopt_epilogue(c, named)


@pytest.mark.parametrize("wrap", [lambda a: a, Foreign, lambda a: OnlyArray(a, copies=False)])
def test_output_is_written_through(wrap: Any) -> None:
    if wrap is Foreign and np.lib.NumpyVersion(np.__version__) < "2.1.0":
        pytest.skip("this NumPy reads DLPack without __array__ as read-only")
    array = single(2, 4)
    adopt_output(MATMUL, wrap(array), [])[:] = 7
    assert (array == 7).all()


def overlapping() -> tuple[Any, Any]:
    memory = np.zeros(20, np.float32)
    return memory[:8].reshape(2, 4), memory[5:11].reshape(2, 3)


@pytest.mark.parametrize(
    ("out", "error", "said"),
    [
        (single(4, 2), BadOutput, "shape"),
        (np.ones((2, 4)), BadOutput, "dtype float64"),
        (np.ones((2, 4), np.int32), BadOutput, "dtype int32"),
        (np.ones((2, 4), ">f4"), ByteOrder, "out"),
        (np.broadcast_to(single(1, 4), (2, 4)), ReadOnlyOutput, "written"),
        (OnlyArray(single(2, 4), copies=True), ReadOnlyOutput, "written"),
        ([[0.0] * 4] * 2, NotAnArray, "out"),
        (np.lib.stride_tricks.as_strided(single(8), (2, 4), (0, 4)), OverlappingOutput, "itself"),
        (np.lib.stride_tricks.as_strided(single(8), (2, 4), (8, 4)), OverlappingOutput, "itself"),
    ],
)
def test_output_refused(out: Any, error: type[StropError], said: str) -> None:
    with pytest.raises(error, match=said):
        adopt_output(MATMUL, out, [])


def test_output_over_an_input() -> None:
    out, operand = overlapping()
    with pytest.raises(OverlappingOutput, match="operand 2"):
        adopt_output(MATMUL, out, [single(2, 3), operand])
    with pytest.raises(OverlappingOutput, match="bias"):
        adopt_output(MATMUL, out, [operand], ["bias"])
    memory = np.zeros(16, np.float32)
    adopt_output(MATMUL, memory[::2].reshape(2, 4), [memory[1::2]])  # interleaved, but never on one place


def test_output_with_strides_of_its_own() -> None:
    for out in (single(4, 2).T, single(2, 8)[:, ::-2], single(4, 6)[::3, 1:5]):
        assert adopt_output(MATMUL, out, []) is out


def test_layout() -> None:
    a, b = single(3, 2).T, single(3, 8)[::-1, ::2]
    layout = layout_of(MATMUL, [a, b])
    assert layout.operands == ((1, 2), (-8, 2))
    assert layout.output == (4, 1)
    assert layout.alignment[2] == 4
    assert layout_of(MATMUL, [a, b], out=single(4, 2).T).output == (1, 2)
    assert layout_of(MATMUL, [single(2, 3), single(3, 4)]).operands == Layout.default(MATMUL).operands


def test_extents_of_one_have_no_stride_to_tell() -> None:
    c = Contraction.parse("mk,kn->mn", m=1, k=3, n=1)
    odd = np.lib.stride_tricks.as_strided(single(64), (1, 3), (100, 4))
    assert layout_of(c, [odd, single(3, 8)[:, :1]]).operands == ((3, 1), (8, 1))


def test_layout_of_nothing() -> None:
    c = Contraction.parse("mk,kn->mn", m=0, k=3, n=2)
    assert layout_of(c, [single(0, 3), single(3, 2)]).operands == ((3, 1), (2, 1))


def test_layout_of_the_epilogue() -> None:
    c = Contraction.parse("mk,kn->mn", m=2, k=3, n=4, epilogue="x * s + r[n,m]")
    arrays = [single(2, 3), single(3, 4)]
    assert layout_of(c, arrays).epilogue == ((), (2, 1))
    layout = layout_of(c, arrays, epilogue=[single(), single(2, 4).T])
    assert layout.epilogue == ((), (1, 4))
    assert len(layout.alignment) == 5


def test_alignment() -> None:
    memory = np.zeros(256, np.uint8)
    start = -memory.ctypes.data % 64
    for offset, expected in [(0, 64), (64, 64), (32, 32), (16, 16), (48, 16), (4, 4), (8, 4)]:
        assert alignment(memory[start + offset :][:16].view(np.float32)) == expected
    assert alignment(memory[start + 8 :][:16].view(np.float64)) == 8


def test_results_go_back_to_their_library(monkeypatch: pytest.MonkeyPatch) -> None:
    array = single(2)
    assert to_library_of(array, array) is array
    assert to_library_of(np.float32(1), array) is array
    assert to_library_of(OnlyArray(array, copies=False), array) is array  # this module has no way in

    library = types.ModuleType("arraylib")
    library.from_dlpack = lambda value: ("arraylib's", value)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "arraylib", library)
    inside = type("Array", (), {"__module__": "arraylib.core"})
    assert to_library_of(inside(), array) == ("arraylib's", array)
    standard = type("Array", (), {"__array_namespace__": lambda self: library})
    assert to_library_of(standard(), array) == ("arraylib's", array)


def test_torch() -> None:
    torch = pytest.importorskip("torch")
    tensor = torch.ones((2, 3), dtype=torch.float32)
    array = adopt(tensor, name="Operand 1")
    assert array.ctypes.data == tensor.data_ptr()
    back = to_library_of(tensor, array)
    assert isinstance(back, torch.Tensor)
    out = torch.zeros((2, 4))
    adopt_output(MATMUL, out, [array])[:] = 3
    assert bool((out == 3).all())
    with pytest.raises(NotAnArray, match="detach"):
        adopt(tensor.clone().requires_grad_(), name="Operand 1")
    with pytest.raises(IntegerOperand):
        adopt(torch.ones(3, dtype=torch.int32), name="Operand 1")
    with pytest.raises((NotAnArray, BadDtype)):
        adopt(torch.ones(3, dtype=torch.bfloat16), name="Operand 1")
    with pytest.raises(NotAnArray, match="resolve_neg"):
        adopt(torch.ones(3, dtype=torch.complex64).conj().imag, name="Operand 1")


def test_values_stored_with_the_other_sign_are_not_read_as_they_lie() -> None:
    class Negated:  # as torch's z.conj().imag: DLPack gives the memory and loses the sign
        def is_neg(self) -> bool:
            return True

        def __array__(self, *_: object, **__: object) -> np.ndarray[Any, Any]:
            return single(2, 3)

    with pytest.raises(NotAnArray, match="resolve_neg"):
        adopt(Negated(), name="Operand 1")


def test_jax() -> None:
    jnp = pytest.importorskip("jax.numpy")
    value = jnp.ones((2, 3))
    assert adopt(value, name="Operand 1").dtype.name == "float32"
    assert type(to_library_of(value, single(2, 3))) is type(value)
    with pytest.raises(ReadOnlyOutput):
        adopt_output(MATMUL, jnp.ones((2, 4)), [])
    with pytest.raises(BadDtype, match="bfloat16"):
        adopt(jnp.ones(3, jnp.bfloat16), name="Operand 1")
