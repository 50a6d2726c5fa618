"""Exit codes: what a shell is told, see `wayforward.cli`."""

DONE, NOBODY, BAD_INPUT, INTERRUPTED = 0, 1, 2, 3
