"""What a deployment decides: where things are kept, at which address, for how long; and whether that is safe."""

from __future__ import annotations

import ipaddress
import os
import stat
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from wayforward.errors import DataError
from wayforward.language import N_
from wayforward.plain_files import name_of

LOCAL = "http://127.0.0.1:8000"
_MOST_PROXIES = 2**16  # a network of containers has no more


@dataclass(frozen=True, kw_only=True)
class ServeSettings:
    """home: the folder of keys, model files, results and the embedded database. database: a URL of SQLAlchemy; left
    out, SQLite in the home. public_url: the address that people type, which links carry. lender, contact: who answers
    questions, in letters and at the foot of pages. days_kept: after so many days without a visit a case is deleted.
    forwarded_from: addresses or networks of
    proxies in front, with commas between, which are believed when they say who comes; "" for none.
    queries_per_case, queries_per_day: how many answers of a model one case may be shown in all, and all its cases in a
    day, against reading the model out. demonstration: made-up people, and one account of each role. debug: errors with
    their inside; for developers only.

    Raises: DataError for a value that cannot be.
    """

    home: Path = Path("wayforward-home")
    database: str = ""
    public_url: str = LOCAL
    forwarded_from: str = "127.0.0.1"
    lender: str = N_("The lender")
    contact: str = ""
    days_kept: int = 90
    queries_per_case: int = 2000
    queries_per_day: int = 200_000
    session_hours: int = 12
    upload_bytes: int = 200 * 2**20
    demonstration: bool = False
    debug: bool = False

    def __post_init__(self) -> None:
        parts = urlsplit(self.public_url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise DataError(
                f"public_url '{self.public_url}' is no web address. Give one like https://plans.example.org."
            )
        for place in self.proxies:
            try:
                ipaddress.ip_network(place)
            except ValueError:
                raise DataError(
                    f"forwarded_from: '{place}' is no address of a proxy. Give one like 10.0.0.5, or a network like "
                    "10.0.0.0/24."
                ) from None
        for name in ("days_kept", "queries_per_case", "queries_per_day", "session_hours", "upload_bytes"):
            if getattr(self, name) < 1:
                raise DataError(f"{name}={getattr(self, name)} is not above 0. Use a whole number from 1 on.")

    @property
    def proxies(self) -> list[str]:
        """The addresses or networks of proxies that are believed."""
        return [place for part in self.forwarded_from.split(",") if (place := part.strip())]

    @property
    def database_url(self) -> str:
        """The URL of the database."""
        return self.database or f"sqlite:///{(self.home / 'wayforward.db').resolve()}"

    @property
    def secure(self) -> bool:
        """Do people come by HTTPS? Then cookies are sent by HTTPS only."""
        return urlsplit(self.public_url).scheme == "https"

    @property
    def loopback(self) -> bool:
        """Can only this machine reach the public address?"""
        return _is_loopback(urlsplit(self.public_url).hostname or "")

    def private(self, host: str) -> bool:
        """Can only this machine reach the server, which listens at this address?"""
        return self.loopback and _is_loopback(host)

    def unsafe(self, host: str = "127.0.0.1") -> list[str]:
        """Return what must not be in front of real people, in sentences that say what to do; [] if nothing is.

        host: the address that the server listens at, whatever the public one is.
        """
        found = []
        if not self.private(host):
            if not self.secure and self.loopback:
                found.append(
                    f"The server listens at {host}, where others reach it by plain HTTP. Leave --host out, or put a "
                    "proxy with a certificate in front, and give --public-url https://..."
                )
            elif not self.secure:
                found.append(
                    f"'{self.public_url}' is plain HTTP: whoever is in between reads everything. Put a proxy with a "
                    "certificate in front, and give --public-url https://..."
                )
            found += [
                f"--forwarded-from {place} believes {ipaddress.ip_network(place).num_addresses:,} addresses about who "
                "comes, and the limits on passwords and codes hang on that. Name the proxy's own address."
                for place in self.proxies
                if ipaddress.ip_network(place).num_addresses > _MOST_PROXIES
            ]
            if self.demonstration:
                found.append("The demonstration is for made-up people. Name a model of your own.")
            if self.debug:
                found.append("Debugging shows the inside of errors to everybody. Start without --debug.")
        for file in (self.home / "keys.json", self.home / "wayforward.db"):
            if os.path.exists(file) and stat.S_IMODE(file.stat().st_mode) & 0o077:
                found.append(f"Others on this machine can read '{file.name}'. Run: chmod 600 {file}")
        home = self.home.absolute()
        above = next(place for place in (home, *home.parents) if os.path.exists(place))
        if not (os.path.isdir(above) and os.access(above, os.W_OK | os.X_OK)):
            found.append(
                f"Nothing can be stored in '{name_of(above)}', where --home is. Name another folder."
            )
        return found


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
