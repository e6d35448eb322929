"""What is said of a diagnosis: the sentence, the text in every width, nothing that a terminal obeys."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from importlib.resources import files

import jsonschema
import pytest

from strop.errors import MissingPackage
from strop.stalls.headline import headline, raises, sentence
from strop.stalls.render import WHOLE, lines
from strop.values.diagnosis import COLUMNS, Accounting, Cause, KernelDiagnosis, Site
from tests.stalls.made import EVIL, LOAD, OWN, USE, cause, diagnosis, kernel

SCHEMA = json.loads(files("strop.stalls").joinpath("schemas/diagnosis.json").read_text("utf-8"))


def test_the_sentence_names_load_line_chain_and_consumer() -> None:
    found = sentence(diagnosis(kernel("k")))
    name = r"sten\x1b[31mcil\x9b2J\u202e.cu"
    assert found == (
        f"62% of this kernel's stall samples wait for the load at {name}:41 "
        f"(LDG.E, dependent address chain of depth 2), consumed at {name}:44. "
        "Another 30% cost nothing: other warps issued meanwhile. What 6.7% of all samples wait for was not found."
    )


def copies(*evidence: str, opcodes: tuple[str, ...] = ("LDG.E", "LDG.E", "LDG.E")) -> tuple[Cause, ...]:
    return tuple(
        cause(
            stall_site=Site(pc=16 + 64 * number, opcode="FFMA", file="s.cu", line=44),
            cause_site=Site(pc=64 * number, opcode=opcode, text=f"{opcode} R4", file="s.cu", line=41),
            share_of_stalls=(0.1, 0.2),
            share_of_time=(0.05, 0.1),
            chain=(),
            evidence=("A load is waited for.", f"{number} samples here", *evidence),
            samples=20,
        )
        for number, opcode in enumerate(opcodes)
    )


def test_copies_of_one_line_are_one_claim_and_one_cause() -> None:
    found = headline(kernel("k", copies()), "k")
    assert found.startswith("30% to 60% of k's stall samples wait for the load at s.cu:41 (LDG.E, 3 instructions)")
    text = "\n".join(lines(diagnosis(kernel("k", copies()))))
    assert text.count("stalls at") == 1
    assert " 1 30% to 60% of stalls, 15% to 30% of time, at most 1.43× faster without\n" in text
    assert "· 3 such pairs on the same lines, 60 samples in all; the costliest is shown" in text


def test_copies_in_one_loop_are_counted_by_its_iterations() -> None:
    loop = "in the loop from +0x0 to +0x100"
    assert "(LDG.E, 3 per iteration)" in headline(kernel("k", copies(loop)), "k")
    assert "(LDG.E, 1 per iteration)" in headline(kernel("k", copies(loop)[:1]), "k")
    other = (*copies(loop)[:2], *copies("in the loop from +0x200 to +0x300")[2:])
    assert "(LDG.E, 3 instructions)" in headline(kernel("k", other), "k")
    assert "(LDG.E and LDG.E.64, 3 per" in headline(
        kernel("k", copies(loop, opcodes=("LDG.E", "LDG.E.64", "LDG.E"))), "k"
    )


def test_a_text_without_code_names_the_kind_and_what_is_missing() -> None:
    site = Site(text="s_waitcnt vmcnt(0)")
    load = cause(
        cause_class="global_load_latency",
        cause_site=None,
        stall_site=site,
        chain=(site,),
        evidence=(),
        needs=("binary",),
    )
    found = replace(
        kernel("all dispatches", (load,)),
        accounting=Accounting(unit="samples", total=79, parts={"issued": 0, "unexplained": 79}),
    )
    assert sentence(diagnosis(found)) == (
        "62% of this profile's stall samples are at s_waitcnt vmcnt(0): a load from memory is waited for; "
        "only the binary says which. What 22% of all samples wait for was not found."
    )


def test_two_causes_of_one_stall_take_no_more_than_its_samples() -> None:
    other = Site(pc=64, opcode="LDG.E", file=LOAD.file, line=LOAD.line)
    both = (
        cause(share_of_stalls=(0.3, 0.62), samples=40),
        cause(share_of_stalls=(0.0, 0.32), samples=22, cause_site=other),
    )
    assert headline(kernel("k", both), "k").startswith("30% to 62% of k's stall samples")


def test_what_is_known_goes_before_a_larger_unknown() -> None:
    unknown = cause(id="ST199", cause_class="unknown", cause_site=None, share_of_time=(0.9, 0.9))
    assert headline(kernel("k", (unknown, cause())), "k").startswith("62% of k's stall samples wait for the load")


def test_a_stall_with_itself_a_hidden_one_and_none() -> None:
    assert headline(kernel("k", (OWN,)), "k") == (
        r"30% of k's stall samples are at sten\x1b[31mcil\x9b2J\u202e.cu:44 (FFMA): "
        "the unit that the instruction needs is busy. They cost nothing: other warps issued meanwhile. "
        "What 6.7% of all samples wait for was not found."
    )
    issued = KernelDiagnosis(name="k", arch="a", accounting=Accounting(unit="cycles", total=5, parts={"issued": 5}))
    assert headline(issued, "k") == "No stall was sampled in k: all 5 cycles issued an instruction."


@pytest.mark.parametrize("width", [None, 200, 80, 40, 20])
def test_the_text_fits_obeys_nobody_and_closes(width: int | None) -> None:
    found = list(lines(diagnosis(), width=width, amount=WHOLE))
    assert all(line.isprintable() for line in found)
    assert found[0].startswith("62% of this")
    if width is not None:
        assert max(map(len, found)) <= max(width, 30)
    text = " ".join(" ".join(found).split())
    assert "20 issued + 30 self + 62 attributed + 8 unexplained = 120 samples" in text
    for said in ("stalls at", "waits for", "└─", "inlined at m.cu:7", "not worth fixing", "compile with -lineinfo"):
        assert said in text, said


def test_many_kernels_are_listed_by_cost_and_cut_with_a_word() -> None:
    found = "\n".join(lines(diagnosis(*(kernel(f"kernel{number}") for number in range(30)))))
    assert "20 more kernels; --json has all" in found
    assert found.startswith("62% of kernel0's stall samples wait for")


def test_what_matters_most_is_asked_for_first() -> None:
    some = (cause(needs=("binary",), share_of_stalls=(0.1, 0.2)), cause(needs=("instruction samples",)))
    assert [one.split()[1] for one in raises(kernel("k", some))] == ["by", "GPU"]


def test_json_is_as_the_schema_says() -> None:
    found = diagnosis(kernel(), kernel("k", (cause(speedup=None),)))
    jsonschema.Draft202012Validator(SCHEMA).validate(json.loads(json.dumps(found.to_dict(), allow_nan=False)))
    spoilt = found.to_json()
    spoilt["kernels"][0]["causes"][0]["share_of_stalls"] = [0.2, 1.2]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(SCHEMA).validate(spoilt)


def test_rows_for_frames_and_a_clear_word_without_pandas(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = list(diagnosis().rows())
    assert [tuple(row) for row in rows] == [COLUMNS, COLUMNS]
    assert (rows[0]["stall_pc"], rows[0]["cause_line"], rows[0]["share_of_time_high"]) == (USE.pc, LOAD.line, 0.5)
    assert rows[1]["cause_pc"] is None
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingPackage, match="pip install pandas"):
        diagnosis().to_dataframe()


def test_a_frame_where_pandas_is() -> None:
    pytest.importorskip("pandas", reason="pandas isn't installed")
    frame = diagnosis().to_dataframe()
    assert list(frame.columns) == list(COLUMNS)
    assert len(frame) == 2
    assert EVIL in frame["kernel"][0]


@pytest.mark.parametrize("width", [30, 60, 100])
def test_a_long_chain_stays_readable_in_a_narrow_terminal(width: int) -> None:
    chain = (USE, LOAD, *(Site(pc=pc, opcode="IADD3", text=f"IADD3 R{pc}, R2, R6, RZ") for pc in range(64, 128, 4)))
    brief = [line for line in lines(diagnosis(kernel("k", (cause(chain=chain),))), width=width) if "└─" in line]
    assert len(brief) == 6
    assert "… and 11 more" in brief[-1]
    found = list(lines(diagnosis(kernel("k", (cause(chain=chain),))), width=width, amount=WHOLE))
    tree = [line for line in found if "└─" in line]
    assert len(tree) == 16
    assert all(len(line.lstrip()) >= min(12, width // 3) for line in tree)
    assert max(map(len, found)) <= width


def test_what_is_overwritten_is_not_consumed() -> None:
    found = headline(kernel("k", (cause(cause_class="war_operand_wait", id="ST117"),)), "k")
    assert "wait for the operands to be read at" in found
    assert "overwritten at" in found
