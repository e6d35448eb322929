"""Where settings come from, and who wins."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from strop.errors import BadSetting, BadSettingsFile
from strop.settings import TABLE, scope, settings


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for setting in TABLE:
        monkeypatch.delenv(setting.variable, raising=False)


def test_defaults() -> None:
    found = settings()
    assert (found.isa, found.threads, found.effort, found.perf_map) == ("auto", None, "standard", False)
    assert found.home.name == "strop"
    assert set(found.sources.values()) == {"default"}


def test_precedence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "strop.toml").write_text('threads = 1\neffort = "quick"\nisa = "avx2"\n')
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    monkeypatch.chdir(below)
    monkeypatch.setenv("STROP_THREADS", "2")
    monkeypatch.setenv("STROP_EFFORT", "thorough")
    with scope(threads=3, isa=None):
        found = settings()
    assert (found.threads, found.effort, found.isa) == (3, "thorough", "avx2")
    assert found.sources["threads"] == "--threads"
    assert found.sources["effort"] == "STROP_EFFORT"
    assert found.sources["isa"] == str(tmp_path / "strop.toml")
    assert settings().threads == 2


def test_scopes_nest_and_end() -> None:
    with scope(effort="quick"):
        with pytest.raises(RuntimeError), scope(threads=2):
            assert (settings().effort, settings().threads) == ("quick", 2)
            raise RuntimeError
        assert settings().threads is None
    assert settings().effort == "standard"


def test_a_scope_holds_in_other_threads() -> None:
    seen: list[str] = []
    with scope(effort="quick"):
        thread = threading.Thread(target=lambda: seen.append(settings().effort))
        thread.start()
        thread.join()
    assert seen == ["quick"]


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("STROP_ISA", "sse"),
        ("STROP_THREADS", "0"),
        ("STROP_THREADS", "two"),
        ("STROP_EFFORT", "fast"),
        ("STROP_PERF_MAP", "maybe"),
    ],
)
def test_bad_values_name_their_source(variable: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(BadSetting) as caught:
        settings()
    assert variable in str(caught.value)
    assert value in str(caught.value)


def test_an_empty_variable_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STROP_ISA", "")
    assert settings().sources["isa"] == "default"


def test_words_of_any_case(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STROP_ISA", "AVX2")
    monkeypatch.setenv("STROP_PERF_MAP", "1")
    assert (settings().isa, settings().perf_map) == ("avx2", True)


@pytest.mark.parametrize("text", ["isa = ", "colour = 1", "\xff"])
def test_bad_files(text: str, tmp_path: Path) -> None:
    (tmp_path / "strop.toml").write_bytes(text.encode("latin-1"))
    with pytest.raises(BadSettingsFile, match=r"strop\.toml"):
        settings()


@pytest.mark.parametrize("text", ["threads = true", "home = 3", 'home = ""', "isa = 2"])
def test_bad_values_in_files(text: str, tmp_path: Path) -> None:
    (tmp_path / "strop.toml").write_text(text)
    with pytest.raises(BadSetting, match=r"strop\.toml"):
        settings()


def test_home_is_absolute(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("STROP_HOME", "store")
    assert settings().home == tmp_path / "store"


def test_an_unknown_flag_is_a_mistake_of_ours() -> None:
    with pytest.raises(TypeError, match="colour"), scope(colour=1):
        pass


def test_the_table_is_complete() -> None:
    for setting in TABLE:
        assert setting.does
        assert setting.shown_default
        assert setting.variable == f"STROP_{setting.name.upper()}"
