"""Files of generative models: numbers as safetensors, everything else as JSON in the header. Nothing is executed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from wayforward.density.generative.coding import Coding
from wayforward.density.generative.generator import Generator, GroupBlind, Split, TrainingReport
from wayforward.density.generative.training import Settings, networks
from wayforward.devices import device_of
from wayforward.errors import FileFormatError, MethodError
from wayforward.tensor_files import numbered, read_networks, require_same, write_networks

if TYPE_CHECKING:
    from wayforward.schema import Schema


def save_generator(path: str | Path, model: Generator) -> Path:
    """Write a trained model. Raises: MethodError for an `Identity`, which has nothing to keep."""
    tensors, header = generator_parts(model)
    return write_networks(path, tensors, "generator", header)


def generator_parts(model: Generator) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what a file holds of a model: tensors by name, and the header. Raises: as `save_generator`."""
    if model.decoder is None:
        raise MethodError(
            f"A generator of kind '{model.kind}' has no networks to save. Make it anew instead."
        )
    tensors: dict[str, Any] = {}
    for name, net in model.networks.items():
        tensors |= numbered(name, net.parameters)
    tensors |= numbered("head", model.learned())
    header: dict[str, Any] = {
        "kind": model.kind,
        "features": _features(model.schema),
        "given": model.given.tolist(),
        "hidden": model.coding.hidden.tolist(),
        "scales": {key: some.tolist() for key, some in model.coding.scales.items()},
        "n_z": model.n_z,
        "report": model.report.to_dict(),
    }
    return tensors, header


def load_generator(path: str | Path, schema: Schema, *, device: str | None = None) -> Generator:
    """A model from a file, for the schema that it was trained for, on whatever device; None: the CPU.

    Raises: FileFormatError for a file that is missing or broken, MethodError for another schema, DeviceError.
    """
    header, tensors = read_networks(path, "generator")
    return generator_of(path, header, tensors, schema, device=device)


def generator_of(
    path: str | Path, header: dict[str, Any], tensors: dict[str, Any], schema: Schema, *, device: str | None
) -> Generator:
    """Make the model of `generator_parts` that a file held; path: for errors. Raises: as `load_generator`."""
    where = device_of(device)
    require_same(path, header, {"features": _features(schema)}, ("features",))
    try:
        scales = {key: np.array(some, dtype=np.float64) for key, some in header["scales"].items()}
        coding = Coding(schema, np.array(header["given"], bool), np.array(header["hidden"], bool), scales)
        trained: dict[str, Any] = header["report"] | {"bounds": tuple(header["report"]["bounds"])}
        report = TrainingReport(**trained)
        settings = Settings(
            latent=int(header["n_z"]),
            hidden=tuple(int(h) for h in report.settings["hidden"]),
            epochs=int(report.settings["epochs"]),
            seed=int(report.settings["seed"]),
        )
        kinds: dict[str, type[Generator]] = {"csvae": Split, "ibr": GroupBlind}
        make = kinds.get(str(header["kind"]), Generator)
        model = make(coding, settings.latent, device=where)
        model.kind, model.report = str(header["kind"]), report
        networks(model, settings)
        model.extra = coding.parameters(np.zeros((0, schema.d)), model.device)
        for name, net in model.networks.items():
            _fill(net.parameters, tensors, name)
        _fill(model.learned(), tensors, "head")
    except (KeyError, TypeError, ValueError) as error:
        raise FileFormatError(
            f"'{Path(path).name}' cannot be read as a generative model ({type(error).__name__}: {error!s:.120}). "
            "Train and save it again."
        ) from error
    return model


def _fill(parameters: list[Any], tensors: dict[str, Any], name: str) -> None:
    for i, parameter in enumerate(parameters):
        value = tensors[f"{name}.{i}"]
        if value.shape != parameter.shape:
            raise ValueError(f"{name}.{i} has another shape")
        parameter.data.copy_(value)
        parameter.requires_grad_(False)


def _features(schema: Schema) -> list[Any]:
    return [[f.name, f.kind, bool(f.missing), [str(level) for level in f.levels]] for f in schema.features]
