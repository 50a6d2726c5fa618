"""`python -m benchmarks`; the options are in `benchmarks/run.py`."""

from benchmarks.run import main

if __name__ == "__main__":
    raise SystemExit(main())
