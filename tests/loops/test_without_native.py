"""Without the native module `import strop` works, and the call that needs it says in one sentence what is missing."""

from __future__ import annotations

import subprocess
import sys

import pytest

CALLS = (
    "strop.tune('mk,kn->mn', m=4, k=4, n=4)",
    "strop.compile(strop.Contraction.parse('mk,kn->mn', m=4, k=4, n=4), ())",
    "strop.einsum('k,k->', np.ones(3), np.ones(3))",
)


@pytest.mark.parametrize("call", CALLS)
def test_the_call_that_needs_it_says_so(call: str) -> None:
    code = (
        "import sys; sys.modules['strop._native'] = None\n"
        "import numpy as np, strop\n"
        f"try:\n    {call}\n"
        "except strop.StropError as error:\n    print(error.code, error.exit_code)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["native-missing", "3"]
