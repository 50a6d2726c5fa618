"""What a process that serves does once, before it has other threads: imports, room of threads, turns of threads."""

from __future__ import annotations

import ctypes
import gc
import os
import sys
from contextlib import suppress

_ARENA_MAX = -8  # of glibc's mallopt
_TURN = 0.001  # seconds that a thread keeps the interpreter while others wait for it, five times less than Python's own


def begin_process() -> None:
    """Import what reads models, keep freed memory in few places, and let a short page in between a long search."""
    from wayforward.model.files import before_threads, own_process

    own_process()
    os.environ.setdefault(
        "OMP_NUM_THREADS", "1"
    )  # a page's small questions would wait for threads more than compute
    before_threads()
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    threadpool_limits(1, user_api="blas")
    sys.setswitchinterval(_TURN)
    with suppress(OSError, AttributeError, TypeError):  # another system's library
        ctypes.CDLL("libc.so.6").mallopt(_ARENA_MAX, 2)


def give_back() -> None:
    """Return freed memory to the system, where its library can."""
    gc.collect()
    with suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL("libc.so.6").malloc_trim(0)
