"""`python -m strop` is `strop`."""

from __future__ import annotations

from strop.cli.main import main

if __name__ == "__main__":
    main()
