"""The catalogue of errors."""

from __future__ import annotations

import inspect
import pickle
import re

import pytest

from strop import errors
from strop.errors import StropError, UnknownAxis, catalogue, pointed

ALL = list(catalogue())


@pytest.mark.parametrize("error", ALL, ids=lambda error: error.code)
def test_each_is_one_sentence_with_its_fix(error: type[StropError]) -> None:
    raised = error(**dict.fromkeys(error.needs(), "it"))
    assert str(raised) == f"{raised.message} {raised.fix}"
    assert "\n" not in str(raised)
    assert "{" not in raised.message
    assert raised.fix
    assert raised.to_json() == {"error": {"code": error.code, "message": raised.message, "fix": raised.fix}}
    assert re.fullmatch(r"[a-z]+(-[a-z]+)*", error.code)
    assert error.exit_code in (1, 2, 3, 70, 130)
    assert inspect.getdoc(error)
    assert "code" in vars(error), "a code of its own"


def test_codes_are_unique() -> None:
    codes = [error.code for error in ALL]
    assert len(set(codes)) == len(codes)
    assert {
        name for name, value in vars(errors).items() if isinstance(value, type) and issubclass(value, StropError)
    } - {"StropError"} == {error.__name__ for error in ALL}


def test_fields_that_look_like_templates_stay_text() -> None:
    raised = UnknownAxis(axis="{q}", text="{0}", axes="m")
    assert "'{q}'" in str(raised)


def test_a_missing_field_is_a_mistake_of_ours() -> None:
    with pytest.raises(KeyError):
        UnknownAxis(axis="q")


def test_errors_cross_processes() -> None:
    raised = UnknownAxis(axis="q", text="mk,kn->mn", axes="m, k, n")
    again = pickle.loads(pickle.dumps(raised))
    assert type(again) is UnknownAxis
    assert str(again) == str(raised)
    assert again.fields == raised.fields


def test_pointed() -> None:
    assert pointed("abc", 1) == "a^bc"
    assert pointed("abc", 3) == "abc^"
