"""The store: runs, their candidates and measurements in one SQLite file, shared by all strop processes of a user.

>>> from strop.store import Request, Store
>>> from strop.values.budget import Budget
>>> from strop.values.run import Run
>>> problem, target = {"contraction": "mk,kn->mn"}, {"isa": "avx2"}
>>> run = Run(verb="tune", problem=problem, target=target, search="local", budget=Budget(seconds=1.0))
>>> request = Request(run=run, title="mk,kn->mn")
>>> with Store.in_memory() as store:
...     with store.open_run(request) as work:
...         first = work.origin
...         work.finish({"sentence": "77 µs"})
...     with store.open_run(request) as work:
...         first, work.origin, work.answer
True
('new', 'answered', {'sentence': '77 µs'})
"""

from strop.store.faults import UNSAVED
from strop.store.handle import RunHandle
from strop.store.record import RunRecord, StoredTrial, Trial
from strop.store.request import Request
from strop.store.store import Store, open_store

__all__ = ["UNSAVED", "Request", "RunHandle", "RunRecord", "Store", "StoredTrial", "Trial", "open_store"]
