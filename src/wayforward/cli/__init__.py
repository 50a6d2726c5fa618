"""The command line: the library from a shell, with no logic of its own.

Exit codes: 0, done; 1, done, and nobody who was refused got an option; 2, the input is at fault (one line
says how); 3, interrupted (the same command again goes on where it stopped); 4, a file cannot be written (no room, no
right to; what was there before is as it was); 5, not enough memory; 70, with a traceback, is a defect.
"""

from __future__ import annotations

import gc
import os
import sys
import traceback
from collections.abc import Sequence

NOBODY, BAD_INPUT, INTERRUPTED, NOT_WRITTEN, NO_MEMORY, DEFECT = 1, 2, 3, 4, 5, 70


def main(arguments: Sequence[str] | None = None) -> None:
    """Run ``wayforward`` with the arguments given (or those of the process) and leave with its exit code."""
    # Before NumPy, torch or scikit-learn start their pools: the work is many small calls, in which a helper
    # thread that waits for a core costs more than it gives. Whoever sets a number themselves keeps it.
    for pool in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(pool, "1")
    # a command imports a million objects, which the collector would look through every 700
    gc.set_threshold(50_000)
    from wayforward.cli.app import app

    try:
        app(args=list(arguments) if arguments is not None else sys.argv[1:], prog_name="wayforward")
    except Exception:  # Python would leave with 1, which says that all is done
        traceback.print_exc()
        sys.exit(DEFECT)
