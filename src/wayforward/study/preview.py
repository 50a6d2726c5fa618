"""Every screen of a protocol on one page that stands alone."""

from __future__ import annotations

import numpy as np

from wayforward.answers.page import template_engine
from wayforward.errors import DataError
from wayforward.language import LANGUAGES, use_language
from wayforward.study.course import ParticipantCourse, StudyStep
from wayforward.study.pool import ProfilePool
from wayforward.study.population import draw
from wayforward.study.protocol import StudyProtocol


def preview(protocol: StudyProtocol, language: str = "") -> str:
    """Return the HTML text, in a language of the protocol (left out: its first one); plans are an example.

    Raises: DataError for a language that the protocol does not have.
    """
    if language and language not in protocol.languages:
        raise DataError(f"The protocol has no language '{language}'. It has {', '.join(protocol.languages)}.")
    course = ParticipantCourse.begin(protocol, language)
    template = template_engine("wayforward.study").get_template("preview.html.j2")
    code = course.state["language"]
    with use_language(code if code in LANGUAGES else "en"):
        text: str = template.render(
            protocol=protocol, words=course.words, language=code, steps=_steps(protocol, course)
        )
    return text


def _steps(protocol: StudyProtocol, course: ParticipantCourse) -> list[StudyStep]:
    if protocol.plans is not None:
        profile = draw(1, np.random.default_rng(protocol.seed))[0][0].tolist()
        plans = ProfilePool.synthetic(protocol.seed).choose(profile, 1, [protocol.seed]) or []
        course.state |= {"profile": profile, "plans": plans[:1]}
    found = []
    for part, _, screen in protocol.screens:
        if part is None:
            found.append(StudyStep(screen.id, screen, items=screen.all_items))
        else:
            found += course.copies(part, screen)
    return found
