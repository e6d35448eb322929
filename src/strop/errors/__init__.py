"""The catalogue of errors: one class each, with a stable code, a sentence, and the fix.

An error is raised with the fields of its template, ``raise UnknownAxis(axis="q", text="mk,kn->mn")``, and reads as one
line: what is wrong, then the way out (the flag and the Python argument). ``code`` never changes once released;
``exit_code`` is what the command line returns for it.

The classes stand by subject in the files beside this one; all are names of this package.
"""

from __future__ import annotations

# The order is the catalogue's in the documentation; each file's errors are names of the package without a second list.
# ruff: noqa: F403, I001
from strop.errors.base import *
from strop.errors.contractions import *
from strop.errors.operands import *
from strop.errors.schedules import *
from strop.errors.options import *
from strop.errors.store import *
from strop.errors.profiles import *
from strop.errors.diagnosis import *
from strop.errors.kernels import *
from strop.errors.machine import *
from strop.errors.binaries import *
from strop.errors.ends import *
