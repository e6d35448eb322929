"""What the judge says of a candidate."""

from __future__ import annotations

from enum import StrEnum


class Verdict(StrEnum):
    """The words of the contract. Failures are data: stored, counted and reported like any result."""

    OK = "ok"
    ILLEGAL = "illegal"
    COMPILE_ERROR = "compile_error"
    COMPILE_TIMEOUT = "compile_timeout"
    CRASH = "crash"
    RUN_TIMEOUT = "run_timeout"
    LIMIT = "limit"
    WRONG_RESULT = "wrong_result"
    INPUT_CHANGED = "input_changed"
    NONDETERMINISTIC = "nondeterministic"
    NO_WORK = "no_work"
    IMPLAUSIBLE = "implausible"
    NOISY = "noisy"
    NOT_RUN = "not_run"
