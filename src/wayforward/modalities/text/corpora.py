"""Texts to try things on: made-up reviews whose words have weights that are known, and 20 newsgroups where it is."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from wayforward.errors import DataError
from wayforward.public import public
from wayforward.streams import generator

#: words of the grammar and how much each speaks for a good review; all others say nothing
PLANTED = {
    "lovely": 2.0, "friendly": 1.5, "quick": 1.0, "clean": 1.0, "fresh": 1.5, "generous": 1.0,
    "rude": -2.0, "dirty": -1.5, "slow": -1.0, "cold": -1.0, "stale": -1.5, "overpriced": -1.0,
}  # fmt: skip
_THINGS = (
    "room",
    "soup",
    "staff",
    "breakfast",
    "terrace",
    "menu",
    "bread",
    "lift",
    "lamp",
    "garden",
    "coffee",
    "view",
)
_FRAMES = (
    "The {thing} was {word}, and we stayed for {number} nights.",
    "My {relative} found the {thing} {word} on {day}.",
    "A {word} {thing}, I must say.",
    "On {day} they brought the {thing} near the {other}, which was {word}.",
    "Nobody at the {other} spoke of the {thing} again; {word}, said my {relative}.",
)
_RELATIVES = ("sister", "uncle", "colleague", "neighbour", "daughter", "guide")
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_NUMBERS = ("two", "three", "four", "five", "six", "seven")


@public
def reviews(
    n: int = 400, sentences: int = 6, seed: int = 0, vocabulary: int = 0
) -> tuple[list[str], np.ndarray]:
    """Return n made-up reviews and labels (n,): 'good' where the weights of their planted words add up to more than 0.

    sentences: of each review. vocabulary: so many further names, 'guest17', drawn evenly into the sentences, for long
    texts of many different words. By a grammar: no text of anybody.
    """
    rng = generator(seed)
    planted = list(PLANTED)
    texts, label = [], []
    for _ in range(n):
        lean = rng.random()  # of the writer
        lines, weight = [], 0.0
        for _ in range(sentences):
            liked = [word for word in planted if (PLANTED[word] > 0) == (rng.random() < lean)]
            word = str(rng.choice(liked or planted))
            weight += PLANTED[word]
            thing, other = rng.choice(_THINGS, 2, replace=False)
            text = str(rng.choice(_FRAMES)).format(
                thing=thing, other=other, word=word, relative=rng.choice(_RELATIVES), day=rng.choice(_DAYS),
                number=rng.choice(_NUMBERS),
            )  # fmt: skip
            if vocabulary:
                text += " With " + " ".join(f"guest{i}" for i in rng.integers(0, vocabulary, 10)) + "."
            lines.append(text)
        texts.append(" ".join(lines))
        label.append("good" if weight > 0 else "bad")
    return texts, np.array(label)


@public
def newsgroups(
    categories: tuple[str, str] = ("sci.med", "sci.space"),
    subset: str = "train",
    home: str | Path | None = None,
) -> tuple[list[str], np.ndarray]:
    """Return posts of two groups of 20 newsgroups and their groups (n,), without headers, signatures and quotes.

    home: where scikit-learn keeps its data; left out, its own place. Nothing is downloaded.
    Raises: DataError where the data is not there.
    """
    from sklearn.datasets import fetch_20newsgroups

    try:
        found = fetch_20newsgroups(
            data_home=home, subset=subset, categories=list(categories), download_if_missing=False,
            remove=("headers", "footers", "quotes"),
        )  # fmt: skip
    except OSError:
        raise DataError(
            "20 newsgroups is not here, and nothing is downloaded by itself. Get it once: "
            "sklearn.datasets.fetch_20newsgroups()."
        ) from None
    return list(found.data), np.array(found.target_names)[found.target]
