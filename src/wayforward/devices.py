"""Where torch works: devices by their names, tried before anything is put there.

Everything random is drawn on the processor and moved, so that it hangs on the seed and not on the device.
"""

from __future__ import annotations

from typing import Any

from wayforward.errors import DeviceError, require, shown


def device_of(name: Any, *, near: Any = None) -> Any:
    """Return the torch device of a name, an accelerator's with its number.

    name: 'cpu', 'cuda', 'cuda:1', ...; 'auto' for the first CUDA device, or the CPU where there is none; None for
    `near`, itself a name, by default the CPU.
    Raises: DeviceError for a device that is not there or cannot hold double precision, in which answers are computed;
    MissingExtra without torch.
    """
    torch = require("torch", extra="torch")
    if name is None:
        name = near
    if name is not None and not isinstance(name, (str, torch.device)):
        raise DeviceError(f"device={shown(name)} is no name of a device. Use 'cpu', 'cuda' or 'auto'.")
    if name is None or name == "cpu":
        return torch.device("cpu")
    wanted = ("cuda" if torch.cuda.is_available() else "cpu") if name == "auto" else name
    try:
        made = torch.ones(1, dtype=torch.float64, device=wanted)
        made.cpu().numpy()
    except (RuntimeError, TypeError, AssertionError, NotImplementedError, ValueError) as error:
        here = ["cpu", *(f"cuda:{i}" for i in range(torch.cuda.device_count()))]
        why = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise DeviceError(
            f"device={str(name)!r} cannot be used on this machine: {why:.160}. Use one of {', '.join(here)}, or 'auto'."
        ) from error
    return made.device


def on_processor(name: Any) -> bool:
    """Return True for the CPU, or no device; other names are tried by torch. Raises: DeviceError."""
    return name is None or (isinstance(name, str) and name == "cpu") or device_of(name).type == "cpu"
