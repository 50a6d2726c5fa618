"""Keys, kept beside the database and never in it: one to seal what people said, one to sign receipts, one for links."""

from __future__ import annotations

import base64
import json
import os
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wayforward.answers.receipt import Signer
from wayforward.errors import FileFormatError, WayforwardError, require
from wayforward.plain_files import make_folder, read_json

NAME = "keys.json"
_BYTES = 32


class SealError(WayforwardError):
    """Something sealed was changed, or was sealed with another key."""


@dataclass(frozen=True)
class Keys:
    """master: wraps the key of each case. link: signs links and tokens. signer: signs receipts."""

    master: bytes
    link: bytes
    signer: Signer

    @classmethod
    def at(cls, home: Path) -> Keys:
        """Read the keys of a home folder; on the first start they are drawn, and only their owner can read them.

        Raises: FileFormatError for a key file that is not whole: what it sealed cannot be read without it.
        """
        path = home / NAME
        if not path.exists():
            make_folder(home, mode=0o700)
            drawn = {
                name: base64.b64encode(secrets.token_bytes(_BYTES)).decode() for name in ("master", "link")
            }
            drawn["signing"] = base64.b64encode(Signer.new().to_bytes()).decode()
            _write_once(path, json.dumps(drawn, indent=2) + "\n")
        try:
            held = {name: base64.b64decode(text, validate=True) for name, text in read_json(path).items()}
            if {name: len(key) for name, key in held.items()} != dict.fromkeys(
                ("master", "link", "signing"), _BYTES
            ):
                raise ValueError
        except (OSError, ValueError, AttributeError, TypeError):
            raise FileFormatError(
                f"The key file '{path.name}' is not whole. Put it back from the backup: without it nothing that people "
                "said can be read."
            ) from None
        return cls(held["master"], held["link"], Signer.from_bytes(held["signing"]))

    def new_case_key(self) -> bytes:
        """Draw the key of one case, sealed: forgetting it makes everything that it sealed unreadable."""
        return seal(self.master, secrets.token_bytes(_BYTES))

    def case_key(self, sealed: bytes) -> bytes:
        """Return the key of a case. Raises: SealError."""
        return unseal(self.master, sealed)


def seal(key: bytes, content: bytes, context: str = "") -> bytes:
    """Encrypt and authenticate (AES-GCM, a fresh 96-bit nonce in front); to open it takes the same `context`."""
    require("cryptography", extra="web")
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    nonce = secrets.token_bytes(12)
    return nonce + AESGCM(key).encrypt(nonce, content, context.encode())


def unseal(key: bytes, sealed: bytes, context: str = "") -> bytes:
    """Return what was sealed. Raises: SealError if it was changed, moved, or sealed with another key."""
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    try:
        return AESGCM(key).decrypt(sealed[:12], sealed[12:], context.encode())
    except (InvalidTag, ValueError):
        raise SealError("A stored case cannot be opened: it was changed, or the keys are others.") from None


def seal_plain(key: bytes, content: Any, context: str) -> bytes:
    """Seal plain data as JSON."""
    return seal(key, json.dumps(content, separators=(",", ":"), allow_nan=False).encode(), context)


def unseal_plain(key: bytes, sealed: bytes, context: str) -> Any:
    """The reverse of `seal_plain`. Raises: SealError."""
    return json.loads(unseal(key, sealed, context))


def _write_once(path: Path, text: str) -> None:
    """Write a file that only its owner can read; of two processes that start at once the first wins."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    try:
        os.link(draft, path)
    except FileExistsError:
        pass
    finally:
        draft.unlink()
