"""Rows of people as network input, and network output as typed likelihoods: a head for every kind of feature.

Numbers are Gaussian in a scaled space (with log(1 + .) first where that makes a skewed feature less skewed, which makes
the head log-normal), categories and binaries a softmax, ordered levels cumulative logits around one location, and a
value that may be missing has a probability of its own. Whole numbers are treated as numbers and rounded by whoever
snaps.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from wayforward.errors import require

if TYPE_CHECKING:
    from wayforward.schema import Schema

_SKEWED = 1.0  # from this skewness on a logarithm is tried
_OFF = -1e9  # logit of what does not exist
_SURE = 1e4  # cumulative logit beyond the last level
_NARROW = 0.1  # least standard deviation of a number's head, in standard deviations of the data


@dataclass
class Decoded:
    """What a decoder says of m rows, differentiable in z.

    value (m, d): feature units, float64; generated numbers are the heads' means, generated levels the index of the
    likeliest, everything else as in x. share (m, f, l): probability of each level of the f features with levels, the
    last of a feature's own coordinates being 'missing' where the schema allows that; one-hot where not generated.
    gone (m, p): probability that a number is missing.
    """

    value: Any
    share: Any
    gone: Any


class Coding:
    """Layout, scales and likelihoods for one schema.

    given (d,) bool: known beforehand, never generated. hidden (d,) bool: neither generated nor shown.
    numeric (p,), level (f,): features. size (f,): levels, a missing one included. wide: the most of them.
    """

    def __init__(
        self, schema: Schema, given: np.ndarray, hidden: np.ndarray, scales: dict[str, np.ndarray]
    ) -> None:
        self.schema, self.given, self.hidden, self.scales = schema, given, hidden, scales
        self.made = ~given & ~hidden
        self.numeric = np.flatnonzero(~schema.has_levels)
        self.level = np.flatnonzero(schema.has_levels)
        self.size = schema.n_levels[self.level] + schema.missing[self.level]
        self.wide = int(self.size.max(initial=1))
        self.exists = np.arange(self.wide) < self.size[:, None]  # (f, l)
        # Input: all numbers, then all flags of missing numbers, then all levels.
        flagged = schema.missing[self.numeric]
        owner = [self.numeric, self.numeric[flagged], np.repeat(self.level, self.size)]
        self._owner = np.concatenate(owner).astype(np.int64)  # (e,) feature of each input column
        self._flagged = np.flatnonzero(flagged)
        # (f,) the input column of each feature's first level
        self.level_start = len(self.numeric) + len(self._flagged) + np.cumsum(self.size) - self.size
        self.shown = np.flatnonzero(~hidden[self._owner])  # columns for the encoder
        self.known = np.flatnonzero(given[self._owner])  # columns for the decoder
        self.generated = np.flatnonzero(self.made[self._owner])
        # Output: means, logits of missing numbers, locations of ordered levels, their missing logits, softmax logits.
        made_numeric = self.made[self.numeric]
        self.mean_of = np.flatnonzero(made_numeric)  # rank among the numbers
        self.gone_of = np.flatnonzero(made_numeric & flagged)
        ordinal = np.array([schema.features[j].kind == "ordinal" for j in self.level], dtype=bool)
        made_level = self.made[self.level]
        self.place_of = np.flatnonzero(made_level & ordinal)  # rank among the features with levels
        self.lost_of = self.place_of[schema.missing[self.level[self.place_of]]]
        self.soft_of = np.flatnonzero(made_level & ~ordinal)
        sizes = [
            len(self.mean_of),
            len(self.gone_of),
            len(self.place_of),
            len(self.lost_of),
            int(self.size[self.soft_of].sum()),
        ]
        self._cuts = np.cumsum([0, *sizes])
        self.n_out = int(self._cuts[-1])
        self.soft_wide = int(self.size[self.soft_of].max(initial=1))
        self.place_wide = int(self.size[self.place_of].max(initial=1))
        self.n_ordinal, self.n_cuts = len(self.place_of), self._known_levels(self.place_of)

    def _known_levels(self, of: np.ndarray) -> int:
        return max(int(self.schema.n_levels[self.level[of]].max(initial=1)) - 1, 1)

    # -- numbers -------------------------------------------------------------------------------------------

    @staticmethod
    def scales_of(schema: Schema, rows: np.ndarray) -> dict[str, np.ndarray]:
        """How numbers are scaled, read off rows (N, d): arrays (p,) origin, unit (0: no logarithm), centre, spread,
        least, greatest; the last four in the scaled or logarithmic space."""
        out: dict[str, list[float]] = {
            k: [] for k in ("origin", "unit", "centre", "spread", "least", "greatest")
        }
        for j in np.flatnonzero(~schema.has_levels):
            value = rows[:, j]
            value = value[~np.isnan(value)]
            if not value.size:
                value = np.zeros(1)
            origin, unit = float(value.min()), 0.0
            if _skewness(value) > _SKEWED:
                above = value[value > origin] - origin
                u = float(np.median(above)) if above.size else 0.0
                if u > 0 and abs(_skewness(np.log1p((value - origin) / u))) < _skewness(value):
                    unit = u
            t = np.log1p((value - origin) / unit) if unit > 0 else value
            low, high = np.quantile(t, [0.005, 0.995])
            spread = float(np.clip(t, low, high).std()) or float(t.std()) or 1.0
            for key, number in zip(
                out,
                (origin, unit, float(t.mean()), spread, float(t.min()), float(t.max())),
                strict=True,
            ):
                out[key].append(number)
        return {key: np.array(some, dtype=np.float64) for key, some in out.items()}

    def scaled(self, x: np.ndarray) -> np.ndarray:
        """(m, d) -> (m, p) numbers in standard deviations from the mean; NaN where missing."""
        s = self.scales
        away = x[:, self.numeric] - s["origin"]
        with np.errstate(invalid="ignore"):
            bent = np.sign(away) * np.log1p(np.abs(away) / np.where(s["unit"] > 0, s["unit"], 1.0))
        t = np.where(s["unit"] > 0, bent, x[:, self.numeric])
        return np.asarray((t - s["centre"]) / s["spread"])

    def scaled_tensor(self, value: Any, rank: np.ndarray) -> Any:
        """(m, r) values of the numbers of rank (r,), a tensor -> standard deviations from the mean, differentiable."""
        torch = require("torch", extra="torch")
        s = {
            key: torch.as_tensor(a[rank], dtype=value.dtype, device=value.device)
            for key, a in self.scales.items()
        }
        away = value - s["origin"]
        unit = torch.where(s["unit"] > 0, s["unit"], torch.ones_like(s["unit"]))
        t = torch.where(s["unit"] > 0, away.sign() * torch.log1p(away.abs() / unit), value)
        return (t - s["centre"]) / s["spread"]

    def own(self, x: np.ndarray) -> np.ndarray:
        """(m, f) coordinate of each level; the last of a feature's own is a missing value."""
        value = x[:, self.level]
        return np.asarray(np.where(np.isnan(value), self.size - 1, np.nan_to_num(value)).astype(np.int64))

    def code(self, x: np.ndarray) -> np.ndarray:
        """(m, d) -> (m, e) float32 network input."""
        number = self.scaled(x)
        flags = np.isnan(number[:, self._flagged])
        levels = (self.own(x)[..., None] == np.arange(self.wide))[:, self.exists]
        number = np.clip(np.nan_to_num(number), -10.0, 10.0)
        return np.concatenate([number, flags, levels], axis=1).astype(np.float32)

    # -- heads ---------------------------------------------------------------------------------------------

    def parameters(self, rows: np.ndarray, device: Any) -> list[Any]:
        """What the heads learn beside the network: log deviations of the numbers, cut points of ordered levels."""
        torch = require("torch", extra="torch")
        cuts = np.zeros((self.n_ordinal, self.n_cuts), dtype=np.float32)
        for i, f in enumerate(self.place_of):
            n = int(self.schema.n_levels[self.level[f]])
            value = rows[:, self.level[f]]
            share = np.bincount(value[~np.isnan(value)].astype(np.int64), minlength=n) + 0.5
            below = np.cumsum(share)[:-1] / share.sum()
            cuts[i, : n - 1] = np.log(below / (1 - below))
            cuts[i, n - 1 :] = cuts[i, n - 2] if n > 1 else 0.0
        # Kept as the first cut point and the logarithms of the steps between, so that they stay in order.
        gap = np.log(np.maximum(np.diff(cuts, axis=1), 1e-3))
        start = np.concatenate([cuts[:, :1], gap], axis=1) if self.n_ordinal else cuts
        width = np.full(len(self.mean_of), np.log(0.5), dtype=np.float32)
        return [torch.tensor(a, device=device).requires_grad_(True) for a in (width, start)]

    def tensors(self, device: Any) -> None:
        """Put the constants that the heads need on a device."""
        torch = require("torch", extra="torch")

        self._device, put = device, self._put
        total = int(self.size[self.soft_of].sum())
        pick = np.full(
            (len(self.soft_of), self.soft_wide), total, dtype=np.int64
        )  # the last column is 'does not exist'
        at = 0
        for i, f in enumerate(self.soft_of):
            pick[i, : self.size[f]] = np.arange(at, at + self.size[f])
            at += int(self.size[f])
        known = self.schema.n_levels[self.level[self.place_of]]
        place = np.arange(self.n_cuts + 1)
        self.pick = put(pick.reshape(-1), torch.int64)
        self._level_there = put(place < known[:, None], torch.bool)  # (o, cuts + 1)
        self._cut_there = put(place[:-1] < known[:, None] - 1, torch.bool)
        self._missing_at = put(known, torch.int64)
        rank = {int(f): i for i, f in enumerate(self.place_of)}
        self._lost_rank = np.array([rank[int(f)] for f in self.lost_of], dtype=np.int64)

    def _put(self, array: np.ndarray, dtype: Any = None) -> Any:
        torch = require("torch", extra="torch")
        return torch.as_tensor(np.ascontiguousarray(array), dtype=dtype or torch.float32, device=self._device)

    def parts(self, out: Any) -> tuple[Any, Any, Any, Any, Any]:
        """(m, n_out) -> means, logits of missing numbers, locations, their missing logits, softmax logits."""
        a, b, c, d, e, f = self._cuts.tolist()
        return out[:, a:b], out[:, b:c], out[:, c:d], out[:, d:e], out[:, e:f]

    def log_soft(self, out: Any) -> Any:
        """(m, s, soft_wide) log-probabilities of the levels of the softmax features."""
        torch = require("torch", extra="torch")
        logits = self.parts(out)[4]
        wide = torch.cat([logits, logits.new_full((len(out), 1), _OFF)], dim=1)[:, self.pick]
        return torch.log_softmax(wide.view(len(out), len(self.soft_of), self.soft_wide), dim=2)

    def log_ordered(self, out: Any, extra: list[Any]) -> Any:
        """(m, o, place_wide) log-probabilities of ordered levels: differences of cumulative logits."""
        torch = require("torch", extra="torch")
        _, _, place, lost, _ = self.parts(out)
        if not self.n_ordinal:
            return place.new_zeros((len(out), 0, self.place_wide))
        start = extra[1]
        cut = torch.cat([start[:, :1], start[:, 1:].exp()], dim=1).cumsum(1)
        cut = torch.where(self._cut_there, cut, torch.full_like(cut, _SURE))
        edge = cut[None] - place[:, :, None]  # (m, o, cuts): log-odds of at most this level
        above = torch.cat([edge, torch.full_like(edge[:, :, :1], _SURE)], dim=2)
        below = torch.cat([torch.full_like(edge[:, :, :1], -_SURE), edge], dim=2)
        step = torch.where(self._level_there, (above - below).clamp(min=1e-4), torch.ones_like(above))
        logs = torch.nn.functional.logsigmoid
        # log(sigmoid(a) - sigmoid(b)) without cancellation
        ordered = logs(above) + logs(-below) + torch.log(-torch.expm1(-step))
        ordered = torch.where(self._level_there, ordered, torch.full_like(ordered, _OFF))
        ordered = torch.nn.functional.pad(ordered, (0, self.place_wide - ordered.shape[2]), value=_OFF)
        if len(self.lost_of):
            ordered = ordered.clone()
            for i, r in enumerate(self._lost_rank):
                ordered[:, r] = ordered[:, r] + logs(-lost[:, i : i + 1])
                ordered[:, r, int(self._missing_at[r])] = logs(lost[:, i])
        return ordered

    def width(self, extra: list[Any]) -> Any:
        """(p',) log standard deviations of the generated numbers."""
        return extra[0].clamp(min=float(np.log(_NARROW)), max=1.0)

    def targets(self, x: np.ndarray, device: Any) -> tuple[Any, Any, Any]:
        """What the heads are to say: scaled numbers (m, p'), softmax levels (m, s), ordered levels (m, o)."""
        torch = require("torch", extra="torch")
        number, own = self.scaled(x)[:, self.mean_of], self.own(x)
        return (
            torch.as_tensor(number, dtype=torch.float32, device=device),
            torch.as_tensor(own[:, self.soft_of], device=device),
            torch.as_tensor(own[:, self.place_of], device=device),
        )

    def log_likelihood(self, out: Any, extra: list[Any], target: tuple[Any, Any, Any]) -> Any:
        """(m,) log-likelihood of rows; numbers as densities in their scaled space."""
        torch = require("torch", extra="torch")
        number, soft, ordered = target
        mean, gone = self.parts(out)[:2]
        total = out.new_zeros(len(out))
        if mean.shape[1]:
            width, there = self.width(extra), ~number.isnan()
            error = (torch.where(there, number, mean.detach()) - mean) * torch.exp(-width)
            log = -0.5 * error**2 - width - 0.5 * float(np.log(2 * np.pi))
            total = total + torch.where(there, log, torch.zeros_like(log)).sum(1)
            if len(self.gone_of):
                rank = np.searchsorted(self.mean_of, self.gone_of)
                flag = (~there[:, rank]).to(out.dtype)
                total = total - torch.nn.functional.binary_cross_entropy_with_logits(
                    gone, flag, reduction="none"
                ).sum(1)
        log_soft, log_ordered = self.log_soft(out), self.log_ordered(out, extra)
        if len(self.soft_of):
            total = total + log_soft.gather(2, soft[:, :, None]).sum((1, 2))
        if self.n_ordinal:
            total = total + log_ordered.gather(2, ordered[:, :, None]).sum((1, 2))
        return total

    # -- back to rows --------------------------------------------------------------------------------------

    def decoded(self, out: Any, extra: list[Any], x: np.ndarray) -> Decoded:
        """Network output (m, n_out) and the people's rows (m, d) -> typed values, differentiable in the output."""
        torch = require("torch", extra="torch")
        m, device = len(out), out.device
        mean, gone_logit = self.parts(out)[:2]
        value = torch.as_tensor(x, dtype=torch.float64, device=device)
        if len(self.mean_of):
            made = self.unscaled(mean.double())
            value = value.index_copy(1, self._put(self.numeric[self.mean_of], torch.int64), made)
        share = torch.as_tensor(
            (self.own(x)[..., None] == np.arange(self.wide)), dtype=torch.float64, device=device
        )
        log_soft, log_ordered = self.log_soft(out), self.log_ordered(out, extra)
        made_levels = np.concatenate([self.soft_of, self.place_of])
        if len(made_levels):
            at = self._put(made_levels, torch.int64)
            parts = [
                torch.nn.functional.pad(log, (0, self.wide - log.shape[2]), value=_OFF)
                for log in (log_soft, log_ordered)
            ]
            probability = torch.cat(parts, dim=1).exp().double()
            share = share.index_copy(1, at, probability)
            best = share[:, at].detach().argmax(2).double()
            known = self._put(self.schema.n_levels[self.level[made_levels]], torch.float64)
            best = torch.where(best >= known, torch.full_like(best, float("nan")), best)
            value = value.index_copy(1, self._put(self.level[made_levels], torch.int64), best)
        gone = torch.zeros((m, len(self.numeric)), dtype=torch.float64, device=device)
        if len(self.gone_of):
            gone = gone.index_copy(1, self._put(self.gone_of, torch.int64), gone_logit.double().sigmoid())
        return Decoded(value, share, gone)

    def unscaled(self, scaled: Any) -> Any:
        """(m, p') scaled numbers, a tensor -> feature units, inside what was observed."""
        torch = require("torch", extra="torch")
        s = {key: torch.as_tensor(a[self.mean_of], device=scaled.device) for key, a in self.scales.items()}
        t = scaled * s["spread"] + s["centre"]
        inside = torch.minimum(torch.maximum(t, s["least"]), s["greatest"])
        t = t + (inside - t).detach()  # held at the edge, and the slope still says which way leads back
        bent = s["unit"] > 0
        return torch.where(
            bent, torch.expm1(torch.where(bent, t, torch.zeros_like(t))) * s["unit"] + s["origin"], t
        )

    def baseline(self, rows: np.ndarray, held: np.ndarray) -> float:
        """Mean log-likelihood of held-out rows if every feature were independent: the same heads, no z."""
        total = 0.0
        number, test = self.scaled(rows)[:, self.mean_of], self.scaled(held)[:, self.mean_of]
        flagged = set(self.gone_of.tolist())
        for i, p in enumerate(self.mean_of):
            seen, unseen = number[:, i], test[:, i]
            mean = float(np.nanmean(seen)) if (~np.isnan(seen)).any() else 0.0
            width = max(float(np.nanstd(seen)) if (~np.isnan(seen)).any() else 1.0, _NARROW)
            log = -0.5 * ((unseen - mean) / width) ** 2 - np.log(width) - 0.5 * np.log(2 * np.pi)
            total += float(np.nansum(log)) / len(held)
            if int(p) in flagged:
                share = (np.isnan(seen).sum() + 0.5) / (len(seen) + 1)
                total += float(np.where(np.isnan(unseen), np.log(share), np.log(1 - share)).mean())
        own, unseen_own = self.own(rows), self.own(held)
        for f in np.concatenate([self.soft_of, self.place_of]).astype(np.int64):
            share = np.bincount(own[:, f], minlength=self.size[f]) + 0.5
            total += float(np.log(share / share.sum())[unseen_own[:, f]].mean())
        return total


def _skewness(value: np.ndarray) -> float:
    width = float(value.std())
    return float(np.mean(((value - value.mean()) / width) ** 3)) if width > 0 else 0.0
