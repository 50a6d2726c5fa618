"""What a process that serves does once, before it has other threads: imports, room of threads, turns of threads."""

from __future__ import annotations

import ctypes
import gc
import os
import re
import sys
from contextlib import suppress
from pathlib import Path

from wayforward.lazy import without_packages

_ARENA_MAX = -8  # of glibc's mallopt
_DONTNEED = 4  # of madvise
_SPARED = (
    "rich",
    "charset_normalizer",
)  # bars of progress and guesses at encodings, for which nobody asks here
_MAPPING = re.compile(r"([0-9a-f]+)-([0-9a-f]+) (r-[x-]p) \S+ \S+ \S+ +/")
_TURN = 0.001  # seconds that a thread keeps the interpreter while others wait for it, five times less than Python's own


def begin_process() -> None:
    """Import what reads models, keep freed memory in few places, and let a short page in between a long
    search."""
    from wayforward.model.files import before_threads, own_process

    own_process()
    os.environ.setdefault(
        "OMP_NUM_THREADS", "1"
    )  # a page's small questions would wait for threads more than compute
    with without_packages(*_SPARED):
        before_threads()
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    threadpool_limits(1, user_api="blas")
    sys.setswitchinterval(_TURN)
    with suppress(OSError, AttributeError, TypeError):  # another system's library
        ctypes.CDLL("libc.so.6").mallopt(_ARENA_MAX, 2)


def give_back() -> None:
    """Return freed memory to the system, and what of libraries was read for the start alone, where that can be."""
    gc.collect()
    with suppress(OSError, AttributeError, TypeError):
        libc = ctypes.CDLL("libc.so.6")
        libc.malloc_trim(0)
        for start, size in _untouched_files():
            libc.madvise(ctypes.c_void_p(start), ctypes.c_size_t(size), _DONTNEED)


def _untouched_files() -> list[tuple[int, int]]:
    """Return address and size of each mapping that only shows a file, as code of libraries: nothing was written there,
    so that it is read again when it is used (120 MB after a start, of which 15 come again; half are LLVM's)."""
    found: list[tuple[int, int]] = []
    at: tuple[int, int] | None = None
    for line in Path("/proc/self/smaps").read_text(errors="replace").splitlines():
        if there := _MAPPING.match(line):
            at = int(there[1], 16), int(there[2], 16)
        elif "-" in line.partition(" ")[0]:
            at = None  # another mapping
        elif line.startswith("Anonymous:") and at is not None and line.split()[1] == "0":
            found.append((at[0], at[1] - at[0]))
    return found
