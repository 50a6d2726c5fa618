"""A trained and frozen generative model of people: rows to latent points and back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from wayforward.density.generative.coding import Coding, Decoded
from wayforward.errors import require
from wayforward.portable import Portable
from wayforward.streams import Streams

if TYPE_CHECKING:
    from wayforward.density.generative.adversary import Adversary
    from wayforward.density.nets import Stack
    from wayforward.schema import Schema

_LOG_SPREAD = (-8.0, 4.0)  # bounds of log-variances of latent points
_PRICE_W = 3.0
TILE = 16


def whole(width: int) -> int:
    """A width of layers in whole tiles of a matrix product: then rows are rounded the same wherever they stand."""
    return -(-width // TILE) * TILE


def through(net: Stack, x: Any) -> Any:
    """Rows (m, e) through a network whose input is as wide or wider: zeros fill up."""
    torch = require("torch", extra="torch")
    return net(torch.nn.functional.pad(x, (0, net.sizes[0] - x.shape[1]))[None])[0]


def _halves(out: Any, latent: int) -> tuple[Any, Any]:
    """Outputs of an encoder -> means and log-variances (m, latent)."""
    return out[:, :latent], out[:, latent : 2 * latent].clamp(*_LOG_SPREAD)


@dataclass(frozen=True)
class TrainingReport:
    """How a training went. bounds: mean evidence lower bound of held-out rows after each epoch (nats a row, numbers as
    densities in standard deviations); best: the epoch whose networks are used; baseline: the same figure for
    independent features."""

    kind: str
    rows: int
    held_out: int
    bounds: tuple[float, ...]
    best: int
    baseline: float
    seconds: float
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def bound(self) -> float:
        """Held-out bound of the networks that are used."""
        return self.bounds[self.best] if self.bounds else float("nan")

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self) | {"bounds": list(self.bounds)}


class Generator(Portable):
    """Encoder and decoder of one schema, frozen.

    latent: dimensions of z. given (d,) bool: features that condition encoder and decoder and are never generated.
    numeric (p,), level (f,), size (f,), wide: layout of levels as in `engines.descent.Descent`. block: rows a tensor;
    every call pads to it, so that a row's numbers do not depend on the rows beside it. dtype of z: float32 or float64.
    """

    kind = "vae"
    keeps = "best"  # the networks of the epoch with the best held-out bound; 'last': where an adversary must settle

    def __init__(self, coding: Coding, latent: int, *, device: Any = "cpu", block: int = 256) -> None:
        torch = self.torch = require("torch", extra="torch")
        self.coding, self.latent, self.block = coding, latent, block
        self.schema: Schema = coding.schema
        self.device = torch.device(device)
        self.given, self.numeric, self.level = coding.given, coding.numeric, coding.level
        self.size, self.wide, self.exists = coding.size, coding.wide, coding.exists
        self.encoder: Stack | None = None
        self.decoder: Stack | None = None
        self.prior: Stack | None = None
        self.adversary: Adversary | None = None  # reads labels or groups off the first `n_z` dimensions of z
        self.n_z = latent
        self.price: Any = 1.0  # of each dimension's KL term during training
        self.extra: list[Any] = []
        self.report = TrainingReport(self.kind, 0, 0, (), 0, float("nan"), 0.0)
        coding.tensors(self.device)

    # -- networks, on tensors (training goes through these) -------------------------------------------------

    @property
    def networks(self) -> dict[str, Stack]:
        """Every network that learns, by name."""
        some = {"encoder": self.encoder, "decoder": self.decoder, "prior": self.prior}
        return {name: net for name, net in some.items() if net is not None}

    def posterior(self, code: Any, label: Any = None) -> tuple[Any, Any]:
        """Input code (m, e) -> mean and log-variance (m, latent) of q(z | row)."""
        assert self.encoder is not None
        return _halves(through(self.encoder, code[:, self.coding.shown]), self.latent)

    def prior_of(self, code: Any, label: Any = None) -> tuple[Any, Any]:
        """Mean and log-variance (m, latent) of the prior: standard, or p(z | given)."""
        if self.prior is None:
            zero = code.new_zeros((len(code), self.latent))
            return zero, zero
        return _halves(through(self.prior, code[:, self.coding.known]), self.latent)

    def raw(self, z: Any, code: Any) -> Any:
        """z (m, latent) and input code (m, e) -> outputs of the heads (m, n_out)."""
        assert self.decoder is not None
        out = through(self.decoder, self.torch.cat([z, code[:, self.coding.known]], dim=1))
        return out[:, : self.coding.n_out]

    # -- rows -----------------------------------------------------------------------------------------------

    def _code(self, x: np.ndarray) -> Any:
        return self.torch.as_tensor(self.coding.code(x), device=self.device)

    def _blocked(self, rows: int, one: Callable[[np.ndarray], tuple[Any, ...]]) -> tuple[Any, ...]:
        """Run `one` on index blocks of a fixed length and put the parts together."""
        parts = []
        for begin in range(0, max(rows, 1), self.block):
            at = np.arange(begin, min(begin + self.block, rows))
            if not at.size:
                at = np.zeros(0, dtype=np.int64)
            pad = np.concatenate([at, np.full(self.block - len(at), at[0] if at.size else 0)])
            parts.append(tuple(part[: len(at)] for part in one(pad)))
        return tuple(self.torch.cat(list(some)) for some in zip(*parts, strict=True))

    def _encoded(self, x: np.ndarray, label: np.ndarray | None = None) -> tuple[Any, Any]:
        if not len(x):
            empty = self.torch.zeros((0, self.latent), device=self.device)
            return empty, empty
        code, labels = self._code(x), self._label(label)
        with self.torch.no_grad():
            mean, spread = self._blocked(
                len(x), lambda at: self.posterior(code[at], None if labels is None else labels[at])
            )
        return mean, spread

    def _label(self, label: np.ndarray | None) -> Any:
        return (
            None if label is None else self.torch.as_tensor(np.asarray(label, np.int64), device=self.device)
        )

    def encode(self, x: np.ndarray) -> Any:
        """Rows (m, d) -> tensor (m, latent): means of q(z | row)."""
        return self._encoded(x)[0]

    def encode_spread(self, x: np.ndarray) -> Any:
        """Rows (m, d) -> tensor (m, latent): log-variances of q(z | row)."""
        return self._encoded(x)[1]

    def decode(self, z: Any, x: np.ndarray) -> Decoded:
        """z (m, latent), a tensor, and the people's rows (m, d) -> typed values; gradients reach z."""
        coding = self.coding
        if not len(x):
            return coding.decoded(self.torch.zeros((0, coding.n_out), device=self.device), self.extra, x)
        code, z = self._code(x), z.to(device=self.device, dtype=self.torch.float32)

        def one(at: np.ndarray) -> tuple[Any, ...]:
            some = coding.decoded(self.raw(z[at], code[at]), self.extra, x[at])
            return some.value, some.share, some.gone

        return Decoded(*self._blocked(len(x), one))

    def rows(self, z: Any, x: np.ndarray) -> np.ndarray:
        """z (m, latent) and the people's rows (m, d) -> hard rows (m, d): the likeliest level, the nearest step.

        Numbers more likely missing than not are NaN.
        """
        with self.torch.no_grad():
            got = self.decode(z, x)
        value = got.value.cpu().numpy().copy()
        gone = got.gone.cpu().numpy() > 0.5
        value[:, self.numeric] = np.where(gone, np.nan, value[:, self.numeric])
        made = self.coding.made
        return np.asarray(np.where(made, self.schema.snap(value), x))

    def rows_around(
        self, z: Any, steps: Any, x: np.ndarray, may: np.ndarray | None = None, *, block: int = 2048
    ) -> np.ndarray:
        """Hard rows (m, s, d) of z + step for every person's z (m, latent) and every one of steps (s, latent).

        Numbers are the heads' means, not snapped; levels the likeliest of those in may (m, f, l) bool; what is not
        generated, and what is likelier missing than not, is NaN. Quicker than `decode`, without gradients. block: rows
        a tensor.
        """
        torch, stack = self.torch, self.decoder
        assert stack is not None
        out = np.full((len(x), len(steps), x.shape[1]), np.nan)
        if not len(x):
            return out
        code, z = self._code(x), z.to(device=self.device, dtype=torch.float32)
        known = torch.cat([z, code[:, self.coding.known]], dim=1)
        first, bias = stack.weights[0][0], stack.biases[0][0]
        with torch.no_grad():
            known = torch.nn.functional.pad(known, (0, len(first) - known.shape[1]))
            # The first layer is linear in z and in the step: each once, not once for every pair.
            (here,) = self._blocked(len(x), lambda at: (torch.addmm(bias, known[at], first),))
            for start in range(0, len(steps), block):
                part = slice(start, min(start + block, len(steps)))
                some = steps[part].to(device=self.device, dtype=torch.float32)
                pad = (
                    -len(some) % 16
                )  # whole tiles, so that no row is rounded differently for where it stands
                away = torch.cat([some, some[:1].expand(pad, -1)]) @ first[: self.latent]
                size = max(1, block // len(away))
                for begin in range(0, len(x), size):
                    at = np.arange(begin, min(begin + size, len(x)))
                    filled = np.concatenate([at, np.full(size - len(at), at[0])])  # a fixed number of rows
                    flat = (here[filled][:, None, :] + away[None]).flatten(0, 1)
                    for weight, shift in zip(stack.weights[1:], stack.biases[1:], strict=True):
                        flat = torch.addmm(shift[0], flat.relu_(), weight[0])
                    flat = flat.view(size, len(away), -1)[
                        : len(at), : len(some), : self.coding.n_out
                    ].flatten(0, 1)
                    self._harden(flat, None if may is None else may[at], out[begin : begin + len(at), part])
        return out

    def _harden(self, flat: Any, may: np.ndarray | None, out: np.ndarray) -> None:
        """Outputs of the heads (b s, n_out) -> hard values in `out` (b, s, d)."""
        torch, coding = self.torch, self.coding
        b, s = out.shape[:2]
        mean, gone, _, _, logits = coding.parts(flat)
        if len(coding.mean_of):
            value = coding.unscaled(mean.double()).numpy(force=True)
            if len(coding.gone_of):
                rank = np.searchsorted(coding.mean_of, coding.gone_of)
                value[:, rank] = np.where(gone.numpy(force=True) > 0, np.nan, value[:, rank])
            out[:, :, self.numeric[coding.mean_of]] = value.reshape(b, s, -1)
        if len(coding.soft_of):
            wide = torch.cat([logits, logits.new_full((len(logits), 1), -1e9)], dim=1)[:, coding.pick]
            self._likeliest(wide.view(b, s, -1, coding.soft_wide), coding.soft_of, may, out)
        if coding.n_ordinal:
            ordered = coding.log_ordered(flat, self.extra)
            self._likeliest(ordered.view(b, s, -1, coding.place_wide), coding.place_of, may, out)

    def _likeliest(self, log: Any, of: np.ndarray, may: np.ndarray | None, out: np.ndarray) -> None:
        if may is not None:
            shut = self.torch.as_tensor(~may[:, None, of, : log.shape[3]], device=log.device)
            log = log.masked_fill(shut, -2e9)
        level = log.argmax(3).numpy(force=True)
        known = self.schema.n_levels[self.level[of]]
        out[:, :, self.level[of]] = np.where(level < known, level, np.nan)

    def sample(self, x: np.ndarray, *, seed: int = 0) -> np.ndarray:
        """One row (m, d) drawn for each row of x: z from the prior, values from the heads, the given ones as in x."""
        torch, coding, streams, m = self.torch, self.coding, Streams.of(x, seed), len(x)
        # A row's draws must differ from those of an equal row: the place is part of the stream here.
        streams = Streams(streams.keys + np.arange(m, dtype=np.uint64), seed)
        who = np.arange(m)
        noise = torch.as_tensor(
            streams.normal(who, self.latent, tag=1), dtype=torch.float32, device=self.device
        )
        code = self._code(x)
        with torch.no_grad():
            mean, spread = self.prior_of(code)
            out = self.raw(mean + noise * (0.5 * spread).exp(), code)
            number = coding.parts(out)[0]
            jitter = torch.as_tensor(
                streams.normal(who, number.shape[1], tag=2), dtype=torch.float32, device=self.device
            )
            out = out.clone()
            out[:, : number.shape[1]] = number + jitter * coding.width(self.extra).exp()
            got = coding.decoded(out, self.extra, x)
        value, share = got.value.cpu().numpy().copy(), got.share.cpu().numpy()
        draw = streams.uniform(who, len(self.level), tag=3) if len(self.level) else np.zeros((m, 0))
        level = (share.cumsum(2) < draw[:, :, None] * share.sum(2, keepdims=True)).sum(2)
        level = np.minimum(level, self.size - 1)
        value[:, self.level] = np.where(level < self.schema.n_levels[self.level], level, np.nan)
        lost = got.gone.cpu().numpy() > streams.uniform(who, len(self.numeric), tag=4)
        value[:, self.numeric] = np.where(lost, np.nan, value[:, self.numeric])
        return np.asarray(np.where(coding.made, self.schema.snap(value), x))

    def log_bound(self, x: np.ndarray, *, draws: int = 4, seed: int = 0) -> np.ndarray:
        """(m, d) -> (m,) evidence lower bound of log p(generated | given), nats; the same for equal rows."""
        if not len(x):
            return np.zeros(0)
        noise = Streams.of(x, seed).normal(np.arange(len(x)), draws, self.latent, tag=5)
        eps = self.torch.as_tensor(noise, dtype=self.torch.float32, device=self.device)
        code, label = self._code(x), self._own_label(x)

        def one(at: np.ndarray) -> tuple[Any, ...]:
            target = self.coding.targets(x[at], self.device)
            some = None if label is None else label[at]
            bound = sum(self.bound(code[at], target, eps[at, i], some)[0] for i in range(draws)) / draws
            return (bound,)

        with self.torch.no_grad():
            (bound,) = self._blocked(len(x), one)
        return np.asarray(bound.cpu().double().numpy())

    def _own_label(self, x: np.ndarray) -> Any:
        return None

    # -- training -------------------------------------------------------------------------------------------

    def bound(
        self,
        code: Any,
        target: tuple[Any, Any, Any],
        noise: Any,
        label: Any = None,
        *,
        warmth: float = 1.0,
        price: Any = 1.0,
    ) -> tuple[Any, Any]:
        """(m,) log-likelihood - warmth x KL(q || prior), and (2 m, latent): the drawn z, then their means.

        price (latent,): of the KL term, for each dimension; anything but 1 is no bound, and for training only.
        """
        mean, spread = self.posterior(code, label)
        centre, wide = self.prior_of(code, label)
        z = mean + noise * (0.5 * spread).exp()
        kl = 0.5 * (wide - spread + (spread - wide).exp() + (mean - centre) ** 2 * (-wide).exp() - 1)
        log = self.coding.log_likelihood(self.raw(z, code), self.extra, target)
        return log - warmth * (price * kl).sum(1), self.torch.cat([z, mean])

    def learned(self) -> list[Any]:
        """What learns beside the networks."""
        return [p for p in self.extra if p.numel()]

    def objective(self, bound: Any, z: Any, label: Any) -> Any:
        """What a training step descends: the bound, and what an adversary reads off z.

        Off means as well as draws: whoever reads z without its noise must not see the label either.
        """
        if self.adversary is None:
            return -bound.mean()
        return -bound.mean() + self.adversary.penalty(z[:, : self.n_z], label.repeat(2))


class Split(Generator):
    """A conditional subspace model: z (n_z) says nothing about the label, w (n_w) what the label changes.

    A latent point is [z, w], `latent` = n_z + n_w. q(z | row), q(w | row, label), a prior p(w | label) that is a
    Gaussian for each label, and an adversary that must not be able to read the label off z. `decode` takes joined
    points: ``model.decode(model.join(z, w), x)``.
    Source: J. Klys, J. Snell, R. Zemel (2018), Learning Latent Subspaces in Variational Autoencoders, NeurIPS;
    M. Downs, J. Chu, Y. Yacoby, F. Doshi-Velez, W. Pan (2020), CRUDS, ICML Workshop on Human Interpretability.
    """

    kind = "csvae"
    keeps = "last"

    def __init__(
        self, coding: Coding, latent: int, n_w: int = 2, *, device: Any = "cpu", block: int = 256
    ) -> None:
        super().__init__(coding, latent + n_w, device=device, block=block)
        self.n_z, self.n_w = latent, n_w
        self.encoder_w: Stack | None = None
        # What both could carry is cheaper in z, so that w is left with what z may not say.
        self.price = self.torch.ones(latent + n_w, device=self.device)
        self.price[latent:] = _PRICE_W
        start = self.torch.zeros((2, 2 * n_w))
        start[0, :n_w], start[1, :n_w] = -1.0, 1.0
        start[:, n_w:] = -1.0
        self.table = start.to(self.device).requires_grad_(True)

    @property
    def networks(self) -> dict[str, Stack]:
        """Every network that learns, by name."""
        assert self.encoder_w is not None
        return super().networks | {"encoder_w": self.encoder_w}

    def learned(self) -> list[Any]:
        """What learns beside the networks."""
        return [*super().learned(), self.table]

    def posterior(self, code: Any, label: Any = None) -> tuple[Any, Any]:
        """Input code (m, e), label (m,) -> mean and log-variance (m, n_z + n_w)."""
        assert self.encoder is not None and self.encoder_w is not None
        shown = code[:, self.coding.shown]
        labelled = self.torch.cat([shown, label[:, None].to(shown.dtype)], dim=1)
        z, w = (
            _halves(through(self.encoder, shown), self.n_z),
            _halves(through(self.encoder_w, labelled), self.n_w),
        )
        return self.torch.cat([z[0], w[0]], dim=1), self.torch.cat([z[1], w[1]], dim=1)

    def prior_of(self, code: Any, label: Any = None) -> tuple[Any, Any]:
        """Mean and log-variance (m, n_z + n_w): standard for z, the label's for w (a refusal where there is none)."""
        if label is None:
            label = self.torch.zeros(len(code), dtype=self.torch.int64, device=code.device)
        own = self.table[label.long()]
        zero = code.new_zeros((len(code), self.n_z))
        mean = self.torch.cat([zero, own[:, : self.n_w]], dim=1)
        return mean, self.torch.cat([zero, own[:, self.n_w :]], dim=1).clamp(*_LOG_SPREAD)

    def encode(self, x: np.ndarray, label: np.ndarray | None = None) -> Any:
        """Rows (m, d) and labels (m,) bool, refused where left out -> tensor (m, n_z + n_w) of means."""
        return self._encoded(x, np.zeros(len(x), bool) if label is None else label)[0]

    def encode_spread(self, x: np.ndarray, label: np.ndarray | None = None) -> Any:
        """Rows (m, d) and labels (m,) bool, refused where left out -> tensor (m, n_z + n_w) of log-variances."""
        return self._encoded(x, np.zeros(len(x), bool) if label is None else label)[1]

    def join(self, z: Any, w: Any) -> Any:
        """z (m, n_z) or the whole of `encode`, and w (m, n_w) -> latent points (m, n_z + n_w)."""
        return self.torch.cat([z[:, : self.n_z].to(w.dtype), w], dim=1)

    def draw_w(self, label: bool, streams: Streams, who: np.ndarray, m: int, *, tag: int = 0) -> Any:
        """(len(who), m, n_w) draws from p(w | label), each person's own."""
        noise = self.torch.as_tensor(
            streams.normal(who, m, self.n_w, tag=tag), dtype=self.torch.float32, device=self.device
        )
        own = self.table[int(label)].detach()
        return own[: self.n_w] + noise * (0.5 * own[self.n_w :].clamp(*_LOG_SPREAD)).exp()

    def _own_label(self, x: np.ndarray) -> Any:
        return self.torch.zeros(len(x), dtype=self.torch.int64, device=self.device)


class GroupBlind(Generator):
    """A conditional model whose z says little about people's group: an adversary reads z, and the encoder pays.

    q(z | generated features), prior p(z | given), decoder p(generated | z, given). Neither the encoder nor the decoder
    sees the group, nor what gives it away.
    Source: R. Gao, H. Lakkaraju (2023), On the Impact of Algorithmic Recourse on Social Segregation, ICML, section 5.2.
    """

    kind = "ibr"
    keeps = "last"

    def posterior(self, code: Any, label: Any = None) -> tuple[Any, Any]:
        """Input code (m, e) -> mean and log-variance (m, latent) of q(z | generated features)."""
        assert self.encoder is not None
        return _halves(through(self.encoder, code[:, self.coding.generated]), self.latent)


class Identity(Generator):
    """z is the row itself: generated numbers in `unit`s, then the coordinates of generated levels. Nothing is lost.

    unit: widths of the schema's ranges, or one number for all. For verifications that need a perfect autoencoder.
    Example: ``Identity(schema, unit=1.0).encode(x)``.
    """

    kind = "identity"

    def __init__(
        self,
        schema: Schema,
        *,
        given: np.ndarray | None = None,
        unit: float | None = None,
        block: int = 256,
    ) -> None:
        known = np.zeros(schema.d, dtype=bool) if given is None else np.asarray(given, dtype=bool)
        plain = {
            "origin": 0.0, "unit": 0.0, "centre": 0.0, "spread": 1.0, "least": -np.inf, "greatest": np.inf
        }  # fmt: skip
        numbers = int((~schema.has_levels).sum())
        coding = Coding(
            schema, known, np.zeros(schema.d, bool), {k: np.full(numbers, v) for k, v in plain.items()}
        )
        made = np.flatnonzero(coding.made[coding.level])
        self._levels = made
        self._wide = np.flatnonzero(coding.exists[made].reshape(-1)) if len(made) else np.zeros(0, np.int64)
        super().__init__(coding, len(coding.mean_of) + len(self._wide), block=block)
        span = schema.span[coding.numeric[coding.mean_of]]
        self._unit = self.torch.as_tensor(span if unit is None else np.full_like(span, unit))

    def _encoded(self, x: np.ndarray, label: np.ndarray | None = None) -> tuple[Any, Any]:
        coding = self.coding
        number = self.torch.as_tensor(np.nan_to_num(x[:, coding.numeric[coding.mean_of]])) / self._unit
        share = (coding.own(x)[:, self._levels, None] == np.arange(self.wide)).reshape(len(x), -1)
        z = self.torch.cat([number, self.torch.as_tensor(share[:, self._wide].astype(np.float64))], dim=1)
        return z, self.torch.full_like(z, -30.0)

    def rows_around(
        self, z: Any, steps: Any, x: np.ndarray, may: np.ndarray | None = None, *, block: int = 2048
    ) -> np.ndarray:
        """As `Generator.rows_around`."""
        m, s = len(x), len(steps)
        all_z = (z[:, None, :] + steps.double()[None]).reshape(m * s, -1)
        got = self.decode(all_z, np.repeat(x, s, axis=0))
        value, share = got.value.numpy(force=True), got.share.numpy(force=True)
        if may is not None:
            share = np.where(np.repeat(may, s, axis=0), share, -1.0)
        level = share.argmax(2)
        value[:, self.level] = np.where(level < self.schema.n_levels[self.level], level, np.nan)
        return np.asarray(np.where(self.coding.made, value, np.nan).reshape(m, s, -1))

    def decode(self, z: Any, x: np.ndarray) -> Decoded:
        """As `Generator.decode`; the coordinates of a feature's levels are cut off at 0 and made to sum to 1."""
        torch, coding = self.torch, self.coding
        m, p, z = len(x), len(coding.mean_of), z.double()

        def put(array: np.ndarray) -> Any:
            return torch.as_tensor(array, device=z.device)

        value = put(np.asarray(x, dtype=np.float64))
        value = value.index_copy(1, put(coding.numeric[coding.mean_of]), z[:, :p] * self._unit.to(z.device))
        share = put((coding.own(x)[..., None] == np.arange(self.wide)).astype(np.float64))
        if len(self._levels):
            flat = z.new_zeros((m, len(self._levels) * self.wide))
            flat = flat.index_copy(1, put(self._wide), z[:, p:].clamp(min=0))
            part = flat.view(m, len(self._levels), self.wide) + 1e-12 * put(coding.exists[self._levels])
            part = part / part.sum(2, keepdim=True)
            share = share.index_copy(1, put(self._levels), part)
            best = part.detach().argmax(2).double()
            known = put(self.schema.n_levels[self.level[self._levels]])
            best = torch.where(best >= known, torch.full_like(best, float("nan")), best)
            value = value.index_copy(1, put(self.level[self._levels]), best)
        gone = torch.zeros((m, len(self.numeric)), dtype=torch.float64, device=z.device)
        return Decoded(value, share, gone)
