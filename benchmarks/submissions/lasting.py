"""local-search for the robust track: an option that is likely to hold in models trained again, else the cheapest."""

import numpy as np

import wayforward as wf


def recommend(problem, people, k):
    """people.x (n, d) -> actions (n, 1, d). The models that are asked are not those of the judge."""
    got = wf.recommend(
        problem, people.x, "local-search", kinds=("cheapest", "lasting"), preferences=people.wishes
    )
    slot = got.is_kind("lasting").argmax(1)  # the first, where nobody has one that lasts
    return got.action[np.arange(got.n), slot][:, None]
