"""`python -m benchmarks.lattices`; the options are in `benchmarks/lattices/run.py`."""

from benchmarks.lattices.run import main

if __name__ == "__main__":
    raise SystemExit(main())
