"""Accounts, sessions and tokens. Passwords by argon2id; of cookies and tokens only hashes are kept."""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass
from datetime import timedelta
from functools import cache

from argon2 import PasswordHasher
from argon2.exceptions import Argon2Error, InvalidHashError
from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from wayforward.errors import WayforwardError
from wayforward.language import gettext
from wayforward.serve.events import record
from wayforward.serve.permissions import Act, Role, act_words, may
from wayforward.serve.storage.database import Database
from wayforward.serve.storage.tables import ApiToken, Login, User, now

LEAST_PASSWORD = 12
_FREE_FAILURES = 5
_LONGEST_LOCK = timedelta(minutes=15)


class AccountError(WayforwardError):
    """An account cannot be made or changed like this."""


class NameTaken(AccountError):
    """There is an account of this name."""


class NoSuchAccount(AccountError):
    """There is no such account or token, or it is not one that may be changed from here."""


@cache
def _hasher() -> PasswordHasher:
    return PasswordHasher()


@cache
def _nobody() -> str:
    """A hash for names that are not there, so that the time taken does not tell which names are."""
    return _hasher().hash(secrets.token_urlsafe())


def digest(secret: str) -> str:
    """The hash of a cookie, a token or a code: they are long and random, so that a fast hash is enough."""
    return hashlib.sha256(secret.encode()).hexdigest()


def add_user(session: Session, name: str, role: str, password: str, by: str = "") -> User:
    """Make an account. Raises: AccountError."""
    name = name.strip()
    if not 2 <= len(name) <= 80 or not name.isprintable():
        raise AccountError(gettext("A name has 2 to 80 characters. Choose another one."))
    if role not in set(Role):
        raise AccountError(
            gettext("There is no role '{role}'. Use one of {roles}.", role=role, roles=", ".join(Role))
        )
    _check_password(password)
    if session.scalars(select(User).where(User.name == name)).first() is not None:
        raise NameTaken(gettext("There is an account '{name}' already. Choose another name.", name=name))
    user = User(name=name, role=role, password=_hasher().hash(password))
    session.add(user)
    session.flush()
    record(session, by or "setup", f"account made: {role}", name)
    return user


def close_user(session: Session, who: Somebody, id: int) -> None:
    """Close an account; one's own stays. Raises: NoSuchAccount."""
    user = session.get(User, id) if 0 <= id < 2**31 else None
    if user is None or user.id == who.user_id:
        raise NoSuchAccount(gettext("This account cannot be closed from here."))
    user.disabled = True
    record(session, who.name, "account closed", user.name)


def _check_password(password: str) -> None:
    if not LEAST_PASSWORD <= len(password) <= 200:
        raise AccountError(
            gettext(
                "A password has at least {n} characters. A few words that do not belong together are good.",
                n=LEAST_PASSWORD,
            )
        )


def log_in(database: Database, name: str, password: str) -> User | None:
    """Return the account whose password this is, else None: nobody learns whether the name, the password or a lock is
    why, by the answer or by the time it takes. A locked account takes no password: after five wrong ones for a second,
    then two, up to 15 minutes. Tries are counted before they are looked at, so that none sent at once go uncounted; the
    slow hash is worked out while no unit of work of the database is open.
    """
    chosen = select(User).where(User.name == name.strip())
    with database.session() as session:
        user = session.scalars(chosen).first()
        free = (
            user is not None
            and not user.disabled
            and (user.locked_until is None or user.locked_until <= now())
        )
        if user is not None and free:
            user.failures += 1
            if user.failures >= _FREE_FAILURES:
                lock = timedelta(seconds=2 ** min(user.failures - _FREE_FAILURES, 10))
                user.locked_until = now() + min(lock, _LONGEST_LOCK)
    right = _verified(user.password if user is not None else _nobody(), password)
    with database.session() as session:
        user = session.scalars(chosen).first()
        if user is None or not free or not right:
            if user is not None and free and user.failures >= _FREE_FAILURES:
                record(session, "door", "account locked", user.name)
            return None
        user.failures, user.locked_until = 0, None
        if _hasher().check_needs_rehash(user.password):
            user.password = _hasher().hash(password)
        record(session, user.name, "logged in", user.name)
        return user


def _verified(stored: str, password: str) -> bool:
    try:
        return _hasher().verify(stored, password[:200])
    except (Argon2Error, InvalidHashError):
        return False


# -- sessions ----------------------------------------------------------------------------------------------


def open_login(
    session: Session,
    hours: float,
    user: User | None = None,
    case_id: str | None = None,
    participant_id: str | None = None,
) -> tuple[str, Login]:
    """Return a new cookie and its session, of an account, of a case, or of nobody yet (for forms before logging in)."""
    cookie = secrets.token_urlsafe(32)
    login = Login(
        id=digest(cookie), user_id=None if user is None else user.id,
        case_id=case_id, participant_id=participant_id, until=now() + timedelta(hours=hours),
    )  # fmt: skip
    session.add(login)
    return cookie, login


def find_login(session: Session, cookie: str) -> Login | None:
    """Return the session of a cookie, if it has not ended and its account may still work here."""
    login = session.get(Login, digest(cookie)) if cookie else None
    if login is None or login.until <= now():
        return None
    if login.user_id is not None:
        user = session.get(User, login.user_id)
        if user is None or user.disabled:
            return None
    return login


def close_login(session: Session, cookie: str) -> None:
    """End a session."""
    session.execute(delete(Login).where(Login.id == digest(cookie)))


def forget_ended(session: Session) -> None:
    """Delete sessions and tokens whose time is over."""
    session.execute(delete(Login).where(Login.until <= now()))
    session.execute(delete(ApiToken).where(ApiToken.until <= now()))


# -- tokens of programs ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Somebody:
    """Who asks: an account, by a session or by a token, which may be allowed less. acts: None for all of the role."""

    name: str
    role: Role
    user_id: int
    acts: frozenset[str] | None = None

    def may(self, act: Act) -> bool:
        """May they do this?"""
        return may(self.role, act) and (self.acts is None or act in self.acts)


def somebody(user: User, acts: frozenset[str] | None = None) -> Somebody:
    """Return who an account is."""
    return Somebody(user.name, Role(user.role), user.id, acts)


def make_token(
    session: Session, user: User, name: str, acts: list[str], days: int = 90, by: Somebody | None = None
) -> str:
    """Return a token for a program, shown once. by: the token that wants another one, which may do no more than it.

    Raises: AccountError for acts that the account itself may not do.
    """
    who = by or somebody(user)
    wrong = [act for act in acts if act not in set(Act) or not who.may(Act(act))]
    if wrong or not acts:
        raise AccountError(
            gettext(
                "A token of this account may have: {able}. This was asked for: {given}.",
                able=", ".join(act_words(act) for act in Act if who.may(act)),
                given=", ".join(wrong) or gettext("nothing"),
            )
        )
    if not 1 <= days <= 366:
        raise AccountError(gettext("A token lasts 1 to 366 days."))
    token = f"wf_{secrets.token_urlsafe(32)}"
    session.add(
        ApiToken(
            id=digest(token),
            user_id=user.id,
            name=name.strip()[:80],
            acts=sorted(acts),
            until=now() + timedelta(days=days),
        )
    )
    record(session, user.name, "token made", name.strip()[:80])
    return token


def of_token(session: Session, token: str) -> Somebody | None:
    """Return who a token speaks for, if it holds."""
    found = session.get(ApiToken, digest(token)) if token else None
    user = None if found is None else session.get(User, found.user_id)
    if found is None or user is None or user.disabled or found.until <= now():
        return None
    return somebody(user, frozenset(found.acts))


def tokens_of(session: Session, who: Somebody) -> list[ApiToken]:
    """Return the tokens of an account that still hold, the newest first."""
    chosen = select(ApiToken).where(ApiToken.user_id == who.user_id, ApiToken.until > now())
    return list(session.scalars(chosen.order_by(ApiToken.made.desc(), ApiToken.id)))


def revoke_token(session: Session, who: Somebody, id: str) -> None:
    """End a token of one's own at once. Raises: AccountError where there is none of this id.

    Nor is there one for a token that may do less than it.
    """
    found = session.get(ApiToken, id)
    less = found is not None and who.acts is not None and not who.acts.issuperset(found.acts)
    if found is None or found.user_id != who.user_id or less:
        raise NoSuchAccount(gettext("You have no such token (any more)."))
    session.delete(found)
    record(session, who.name, "token revoked", found.name)
