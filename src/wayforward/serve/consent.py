"""What an applicant agrees to before anything is worked out with them. A changed text is a new version of it."""

from __future__ import annotations

from wayforward.language import N_, gettext

# Old texts stay: a case names the one that was agreed to.
TEXTS: dict[int, tuple[str, ...]] = {
    1: (
        N_(
            "You say here what you can change and which plans you would rather follow. "
            "A computer looks for plans with it."
        ),
        N_("What you say is kept under lock, so that you can come back. Only your code opens it."),
        N_("The people who sent you here do not see what you say. They see how many people use these pages."),
        N_(
            "You can take this back or delete everything at any time. That changes nothing about the decision."
        ),
        N_("Nobody opened it for {days} days? Then it is deleted by itself."),
    ),
}
CURRENT = max(TEXTS)


def consent_text(days: int, version: int = CURRENT) -> list[str]:
    """The sentences of a version, with the days after which a case is deleted."""
    return [gettext(line, days=days) for line in TEXTS[version]]
