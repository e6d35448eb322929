"""Journals trials, four at a time, until it is killed; says on standard output how many are recorded."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from conftest import make_request, make_trial

from strop.store import open_store


def main() -> None:
    with open_store() as store, store.open_run(make_request()) as work:
        count = len(work.trials)
        print("begin", count, flush=True)
        while True:
            count += 4
            batch = [make_trial(number) for number in range(count - 3, count + 1)]
            work.record_many(batch, state=lambda told=count: {"told": told})
            print(count, flush=True)


if __name__ == "__main__":
    main()
