"""Exit codes: what a shell is told, see `wayforward.cli`."""

DONE, NOBODY, BAD_INPUT, INTERRUPTED, NOT_WRITTEN, NO_MEMORY, DEFECT = 0, 1, 2, 3, 4, 5, 70
