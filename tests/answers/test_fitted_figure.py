"""Nothing of a figure lies on its neighbour or outside, however long titles, labels and names are: measured boxes."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from wayforward.answers.figure_style import figure_style, new_figure
from wayforward.answers.figures import figure_population
from wayforward.cli.bench_page import _figure
from wayforward.evaluate import evaluate
from wayforward.language import use_language
from wayforward.methods import recommend

pytest.importorskip("matplotlib")


def crowded(figure):
    """Return the texts that lie on another one or outside, of what is drawn."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.text import Text

    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    far = set()
    for ax in figure.axes:
        for axis, place, ends in ((ax.xaxis, 0, ax.get_xlim()), (ax.yaxis, 1, ax.get_ylim())):
            far |= {
                t for t in axis.get_majorticklabels() if not min(ends) <= t.get_position()[place] <= max(ends)
            }
    texts = [t for t in figure.findobj(Text) if t.get_visible() and t.get_text().strip() and t not in far]
    boxes = [(t.get_text(), t.get_window_extent(canvas.get_renderer())) for t in texts]
    whole = figure.bbox
    found = [
        text
        for text, b in boxes
        if min(b.x0 - whole.x0, whole.x1 - b.x1, b.y0 - whole.y0, whole.y1 - b.y1) < -1
    ]
    for (one, a), (other, b) in combinations(boxes, 2):
        wide, high = min(a.x1, b.x1) - max(a.x0, b.x0), min(a.y1, b.y1) - max(a.y0, b.y0)
        found += [f"{one} | {other}"] if wide > 1 and high > 1 else []
    return found


@pytest.mark.parametrize("language", ["en", "de"])
def test_a_report_of_groups_in_both_languages(problem, language):
    x = problem.reference[:80]
    groups = np.array([f"living with their parents and {n} others" for n in range(4)])[np.arange(80) % 4]
    got = recommend(problem, x)
    with use_language(language):
        assert not crowded(figure_population(got, evaluate(got, problem, groups=groups, bootstrap=0)))


def test_long_names_of_methods_and_a_long_axis():
    names = [
        "gradient-boosted-counterfactuals",
        "actionable-recourse-by-programs",
        "guided-prototypes-of-accepted-people",
        "ares",
    ]
    rows = [
        {"method": name, "cost_l1_range": 0.1 + place / 50, "usable": 0.9 - place / 20}
        for place, name in enumerate(names)
    ]
    figure = _figure(rows, names)
    assert not crowded(figure)
    assert [t.get_text() for t in figure.legends[0].get_texts()] == names


def test_a_word_that_is_too_long_stays_whole_and_what_fits_stays_as_it_is():
    with figure_style():
        figure = new_figure(8, 2)
        left, right = figure.subplots(1, 2)
        left.set_title("Plan", loc="left")
        right.set_title("Donaudampfschifffahrtsgesellschaft und noch mehr", loc="left")
        assert not crowded(figure)
    assert left.get_title(loc="left") == "Plan"
    assert right.get_title(loc="left").split() == [
        "Donaudampfschifffahrtsgesellschaft",
        "und",
        "noch",
        "mehr",
    ]
