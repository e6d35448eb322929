"""What every target of the judge must do, as a pytest suite for the writers of targets.

Subclass `TargetConformance`, say how your target is made and which problem of its is small, and run pytest:

    from strop.testing import TargetConformance

    class TestMyMachine(TargetConformance):
        problem_id = "mine/gemm-16x16x16"

        def make(self):
            return MyMachine()

The promises are those of `strop.kernels.targets.target.Target`. The judge itself is used as it is: what it draws, runs
and compares is what a user's judgement is made of.
"""

from __future__ import annotations

import json
import math
from typing import ClassVar

import numpy as np
import pytest

from strop.errors import BadParameter
from strop.kernels.judge import draw, judge_code
from strop.kernels.judgement import Judgement
from strop.kernels.problem import Problem, Role
from strop.kernels.registry import problem as find
from strop.kernels.targets.target import Target
from strop.values.verdict import Verdict

REFUSED_TEXT = '#include "/etc/passwd"\n'


class TargetConformance:
    """The suite. `problem_id` names a small problem of the target's; `sandbox` is what its judgements ask for."""

    problem_id: ClassVar[str]
    sandbox: ClassVar[str] = "auto"

    def make(self) -> Target:
        """Return the target. To be overridden."""
        raise NotImplementedError

    def problem(self) -> Problem:
        """Return the problem that the tests use."""
        return find(self.problem_id)

    def judged(self, code: str) -> Judgement:
        """Judge a candidate, asking no store."""
        return judge_code(self.problem(), code, self.make(), sandbox=self.sandbox)

    def body(self, statements: str) -> str:
        """Return a candidate that does this and no more."""
        return f"{self.problem().signature} {{\n{statements}\n}}\n"

    def test_a_bound_is_a_cost(self) -> None:
        machine = self.make()
        assert machine.unit in ("s", "cycles")
        bound = machine.bound(self.problem())
        assert math.isfinite(bound)
        assert bound > 0
        assert machine.bound(self.problem()) == bound, "a bound is a property of problem and machine"

    def test_the_identity_can_be_a_key(self) -> None:
        first, second = (json.dumps(dict(self.make().identity()), sort_keys=True) for _ in range(2))
        assert first == second

    def test_no_parameter_is_taken_that_is_not_there(self) -> None:
        with pytest.raises(BadParameter):
            self.make().changed({"no.such.parameter": 1.0})

    def test_the_plan_leaves_nothing_out(self) -> None:
        """All families, two placements, and one draw under two poisons."""
        plan = self.make().plan(self.problem())
        assert {each.family for each in plan} == set(self.problem().families)
        assert len({each.placement for each in plan}) >= 2
        poisons: dict[tuple[str, int], set[int]] = {}
        for each in plan:
            poisons.setdefault((each.family, each.draw), set()).add(each.poison)
        assert max(map(len, poisons.values())) >= 2

    def test_runs_come_in_the_order_of_the_trials(self) -> None:
        machine, problem = self.make(), self.problem()
        built = machine.build(problem, problem.start_code, sandbox=self.sandbox)
        trials = draw(problem, machine, 1)
        runs = machine.run(problem, built, trials, sandbox=self.sandbox)
        for trial in trials:
            outcome = next(runs)
            assert outcome.trial is trial
            assert outcome.broken is None
            for buffer in problem.buffers:
                left = outcome.buffers[buffer.name]
                assert (left.shape, left.dtype) == (buffer.shape, np.dtype(buffer.dtype))
                if buffer.role is Role.INPUT:
                    assert left.tobytes() == trial.inputs[buffer.name].tobytes()
        if hasattr(runs, "close"):
            runs.close()

    def test_the_start_codes_are_right(self) -> None:
        machine = self.make()
        for name, code in self.problem().starts.items():
            found = self.judged(code)
            right = {Verdict.OK} if machine.unit == "cycles" else {Verdict.OK, Verdict.NOISY}  # a machine may be busy
            assert found.verdict in right, f"{name}: {found.reason}"
            if found.ok:
                assert found.measurement is not None
                assert found.measurement.unit == machine.unit
                assert found.measurement.protocol
                assert found.measurement.machine
                assert found.share_of_bound is not None
                assert found.share_of_bound > 0

    def test_a_judgement_survives_json(self) -> None:
        found = self.judged(self.problem().start_code)
        text = json.dumps(found.to_json(), allow_nan=False)
        assert Judgement.from_json(json.loads(text)).to_json() == json.loads(text)

    def test_seeds_are_new_each_time(self) -> None:
        first, second = (self.judged(self.body("")) for _ in range(2))
        assert first.evidence["seed"] != second.evidence["seed"]

    def test_nothing_is_not_the_answer(self) -> None:
        found = self.judged(self.body(""))
        assert found.verdict in (Verdict.WRONG_RESULT, Verdict.NO_WORK), found.reason
        assert found.measurement is None
        assert found.seconds is None
        assert found.cycles is None

    def test_an_error_of_the_compiler_has_its_line(self) -> None:
        found = self.judged("\n" + self.body("  this is no C;"))
        assert (found.verdict, found.line) == (Verdict.COMPILE_ERROR, 3), found.reason

    def test_a_file_of_the_machine_is_refused(self) -> None:
        found = self.judged(REFUSED_TEXT + self.problem().start_code)
        assert (found.verdict, found.line) == (Verdict.ILLEGAL, 1), found.reason

    def test_what_does_not_end_is_ended(self) -> None:
        found = self.judged("static volatile int stop;\n" + self.body("  while (!stop) {\n  }"))
        assert found.verdict is Verdict.RUN_TIMEOUT, found.reason

    def test_what_goes_astray_is_no_result(self) -> None:
        found = self.judged(self.body("  *(volatile int *)8 = 0;"))
        assert found.verdict in (Verdict.CRASH, Verdict.ILLEGAL), found.reason

    def test_inputs_stay_as_they_are(self) -> None:
        name = self.problem().inputs()[0].name
        found = self.judged(self.body(f"  *(volatile unsigned char *){name} ^= 1;"))
        assert found.verdict in (Verdict.INPUT_CHANGED, Verdict.ILLEGAL), found.reason
