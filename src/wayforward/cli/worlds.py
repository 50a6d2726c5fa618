"""Fit a world to a table and a causal graph, and say how well a world fits a table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from wayforward.cli.console import room_for, say, steps, table, tell, write_json
from wayforward.data.user_tables import features_of, read_table

if TYPE_CHECKING:
    from wayforward.schema import Schema
    from wayforward.world.base import World


def fit(
    graph: Path, train: Path, *, kind: str, out: Path, label: str | None, schema: Path | None,
    drop: tuple[str, ...], soft: bool, epochs: int | None, device: str | None, seed: int, json: Path | None,
) -> None:  # fmt: skip
    """Fit, save, and show what the world makes of the rows that it was fitted to."""
    from wayforward.errors import WorldError
    from wayforward.schema import Schema
    from wayforward.world.graph import CausalGraph
    from wayforward.world.registry import world_class

    room_for(out, (".safetensors",))
    made = world_class(kind)
    features = features_of(read_table(train), label, train.name)
    read = CausalGraph.read(graph, drop=drop)
    if label is not None and label in read.names:  # the decision is no feature
        read = CausalGraph.read(read, drop=[label])
    about = Schema.from_yaml(schema) if schema is not None else Schema.infer(features, propose=False)
    options: dict[str, Any] = {"soft": soft, "seed": seed}
    if kind == "flow":
        options["checkpoint"] = out.with_name(out.name + ".part")
        if epochs is not None:
            options["epochs"] = epochs
        if device is not None:
            options["device"] = device
    elif epochs is not None or device is not None:
        given = "--epochs" if device is None else "--device"
        raise WorldError(
            f"{given} is for --kind flow; a world of kind '{kind}' is fitted in one go, on the CPU."
        )
    effects = sum(bool(causes) for causes in read.parents.values())
    with steps("fitting", {"flow": epochs or 1000, "gp": effects}.get(kind, read.d)) as shown:
        world = made.fit(read, features, about, progress=lambda done, total: shown(done), **options)
    world.save(out)
    if (part := out.with_name(out.name + ".part")).is_file():
        part.unlink()
    got = _show(world, features, None, f"{kind} world of {train.name}", seed, json)
    say(
        f"Written to {out}. {got} Check it with people it has not seen: wayforward world check {out} --train TABLE."
    )


def inspect(
    world: Path, train: Path, *, label: str | None, schema: Path | None, seed: int, json: Path | None
) -> None:
    """Compare a saved world with a table."""
    from wayforward.schema import Schema
    from wayforward.world.files import load_world

    features = features_of(read_table(train), label, train.name)
    about = Schema.from_yaml(schema) if schema is not None else None
    found = load_world(world, about)
    if found.schema is None:  # equations know no schema
        about = about or Schema.infer(features, propose=False)
    say(_show(found, features, about, f"{world.name} beside {train.name}", seed, json))


def _show(world: World, people: Any, schema: Schema | None, title: str, seed: int, json: Path | None) -> str:
    """Print a table of the check; returns its summary as a sentence."""
    from wayforward.world.check import check

    got = check(world, people, schema, seed=seed)
    if str(json) != "-":
        rows = [
            (f.name, ", ".join(f.causes) or "–", f.mean, f.mean_world, f.sd, f.sd_world, f.gap, f.noise_left)
            for f in got.features
        ]
        head = ("feature", "causes", "mean", "in the world", "sd", "in the world", "gap", "noise left")
        table(title, head, rows)
        if (diagnosis := world.diagnose(people, seed=seed)) is not None:
            tell(str(diagnosis))
    write_json(
        {
            "world": type(world).__name__,
            "rows": got.rows,
            "log_density": got.log_density,
            "interval": got.interval,
            "round_trip": got.round_trip,
            "by_chance": got.by_chance,
            "features": {f.name: {k: v for k, v in vars(f).items() if k != "name"} for f in got.features},
        },
        json,
    )
    return str(got)[0].upper() + str(got)[1:] + "."
