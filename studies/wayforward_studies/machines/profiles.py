"""Which numerical kernels a process uses: profiles of other machines, and one layer at a time."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module

#: The layers whose kernels a processor chooses: variables of the environment, read once when a process starts.
_TORCH, _NUMPY, _BLAS, _COMPILED, _C = (
    "torch", "numpy's loops", "linear algebra", "compiled searches", "the C library"
)  # fmt: skip
_AVX2: dict[str, dict[str, str]] = {
    _TORCH: {"ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2", "MKL_CBWR": "AVX2"},
    _NUMPY: {"NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR"},
    _BLAS: {"OPENBLAS_CORETYPE": "Haswell"},
    _COMPILED: {"NUMBA_CPU_NAME": "haswell", "NUMBA_CPU_FEATURES": ""},
    _C: {"GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX512F,-AVX512VL,-AVX512BW,-AVX512DQ"},
}
_SSE: dict[str, dict[str, str]] = {
    _TORCH: {"ATEN_CPU_CAPABILITY": "default", "ONEDNN_MAX_CPU_ISA": "SSE41", "MKL_CBWR": "COMPATIBLE"},
    _NUMPY: {"NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4 AVX512_ICL AVX512_SPR"},
    _BLAS: {"OPENBLAS_CORETYPE": "Nehalem"},
    _COMPILED: {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""},
    _C: {"GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX512F,-AVX512VL,-AVX512BW,-AVX512DQ,-AVX2,-FMA,-FMA4,-AVX"},
}
#: One thread, so that a sum is split in one way; whatever the caller's environment says of the layers is left out.
_ONE = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
_OWN = {name for layer in (*_AVX2.values(), *_SSE.values()) for name in layer}


@dataclass(frozen=True)
class Profile:
    """A machine to stand in for. switched: what differs from this one, in words; variables: of the environment.

    tables: those that are measured under it; none named: all.
    """

    name: str
    switched: str
    variables: Mapping[str, str]
    tables: tuple[str, ...] = ()

    def environment(self) -> dict[str, str]:
        """The environment of a process with these kernels: this one's, without what it says of them."""
        kept = {name: value for name, value in os.environ.items() if name not in _OWN}
        return {**kept, **_ONE, **self.variables}


def _together(layers: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    return {name: value for layer in layers.values() for name, value in layer.items()}


#: Tables that are measured again under the same kernels; those with a given classifier cannot differ otherwise.
AGAIN = ("icarma-trained", "balanced", "hare", "study", "pear")
#: Tables whose digits differ under other kernels: one layer at a time is asked of them alone.
DIFFERENT = ("icarma-trained", "hare")
#: The first is what all are compared with.
PROFILES: tuple[Profile, ...] = (
    Profile("this machine", "nothing, one thread", {}),
    Profile("once more", "nothing, measured again", {}, AGAIN),
    Profile("AVX2", "every layer as on a processor of 2013", _together(_AVX2)),
    Profile("SSE", "every layer as on a processor of 2008", _together(_SSE)),
    *(Profile(f"{layer} alone", f"{layer} as under SSE", v, DIFFERENT) for layer, v in _SSE.items()),
)


def kernels() -> dict[str, str]:
    """What this process uses, as its libraries say: evidence that a profile was in force."""
    import scipy.linalg  # noqa: F401  (it brings linear algebra of its own)
    import torch
    from numba.core import config
    from threadpoolctl import threadpool_info  # type: ignore[import-untyped]

    blas = sorted({str(pool["architecture"]) for pool in threadpool_info() if "architecture" in pool})
    loops = import_module("numpy._core._multiarray_umath")
    used = [name for name in loops.__cpu_dispatch__ if loops.__cpu_features__.get(name)]
    return {
        _TORCH: torch.backends.cpu.get_cpu_capability(),
        _NUMPY: used[-1] if used else "baseline",
        _BLAS: ", ".join(blas),
        _COMPILED: getattr(config, "CPU_NAME", None) or "host",
        _C: _c_library(),
        "threads": str(torch.get_num_threads()),
    }


def _c_library() -> str:
    """Which instructions the C library is told to leave out, with its version."""
    name, version = platform.libc_ver()
    without = os.environ.get("GLIBC_TUNABLES", "").partition("hwcaps=")[2]
    least = "SSE" if "-FMA" in without.split(",") else "AVX2" if without else "host"
    return f"{name} {version}: {least}"
