"""Receipts: what a lender told somebody, signed, so that anybody can see later that nothing in it was changed.

A receipt is plain data under an Ed25519 signature (RFC 8032). What is signed is its one canonical JSON text: keys in
order, no spaces, UTF-8, no NaN. The private key never leaves the lender; the public key travels with the receipt and is
compared with the one that the lender publishes.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from wayforward.errors import FileFormatError, require, shown
from wayforward.plain_files import unique

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

FORMAT = "wayforward/receipt"
VERSION = 1
_EXTRA = "web"
_ENTRIES = ("format", "version", "content", "signature", "public_key")
_PRIME = 2**255 - 19  # of Ed25519, and the constant of its curve (RFC 8032, 5.1)
_D = -121665 * pow(121666, -1, _PRIME) % _PRIME


def canonical(content: Mapping[str, Any]) -> bytes:
    """Return the one text of plain data that is signed. Raises: FileFormatError for what is not plain data."""
    if not isinstance(content, Mapping):
        raise FileFormatError(
            f"A receipt holds a table of names and values; got {shown(content)}. Give a dict."
        )
    try:
        text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
        return text.encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise FileFormatError(
            f"A receipt holds texts, finite numbers, lists and tables only ({error})."
        ) from None


def _small_order(key: bytes) -> bool:
    """True for the eight points that eight times make zero: under such a key one signature fits any content."""
    y = int.from_bytes(key, "little") % 2**255 % _PRIME
    for _ in range(3):  # twice the point, by its y alone
        x_square = (y * y - 1) * pow(_D * y * y + 1, -1, _PRIME)
        y = (y * y + x_square) * pow(2 - y * y + x_square, -1, _PRIME) % _PRIME
    return y == 1


@dataclass(frozen=True)
class Receipt:
    """content: what was told, as plain data. signature and public_key: base64, 64 and 32 bytes."""

    content: Mapping[str, Any]
    signature: str
    public_key: str

    @property
    def code(self) -> str:
        """A short code of what is signed (80 bits, in groups of four), for paper and telephone."""
        letters = base64.b32encode(hashlib.sha256(canonical(self.content)).digest()[:10]).decode()
        return "-".join(letters[i : i + 4] for i in range(0, 16, 4))

    def holds(self, public_key: str | None = None) -> bool:
        """Is the signature that of this content, by `public_key`?

        Without a key this shows only that whoever holds the key inside the receipt signed it, and anybody can make a
        key: compare with the one that the lender publishes.
        """
        require("cryptography", extra=_EXTRA)
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

        if public_key is not None and public_key != self.public_key:
            return False
        try:
            raw = _bytes(self.public_key)
            key = Ed25519PublicKey.from_public_bytes(raw)
            if _small_order(raw):
                return False
            key.verify(_bytes(self.signature), canonical(self.content))
        except (InvalidSignature, binascii.Error, ValueError, FileFormatError):
            return False
        return True

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "content": dict(self.content),
            "signature": self.signature,
            "public_key": self.public_key,
        }

    @classmethod
    def from_json(cls, text: str | bytes) -> Receipt:
        """Read the text of a receipt; see `from_dict`. An entry that stands twice is refused: a reader of the first and
        a reader of the last would see different receipts. Raises: FileFormatError.
        """
        try:
            return cls.from_dict(json.loads(text, object_pairs_hook=unique))
        except (ValueError, TypeError, RecursionError) as error:
            why = str(error) if "twice" in str(error) else "it is no JSON"
            raise FileFormatError(
                f"This receipt cannot be read: {why}. Give the whole of it as it was handed out, from the first brace "
                "to the last."
            ) from None

    @classmethod
    def from_dict(cls, data: Any) -> Receipt:
        """The reverse of `to_dict`; the signature is not checked here. Raises: FileFormatError."""
        if not isinstance(data, Mapping) or data.get("format") != FORMAT:
            raise FileFormatError(
                "This is no receipt of wayforward. Give the whole file as it was handed out."
            )
        if data.get("version") != VERSION or type(data["version"]) is not int:
            raise FileFormatError(
                f"This receipt has version {data.get('version')!r}; version {VERSION} is read. Update wayforward."
            )
        content, signature, key = (data.get(name) for name in ("content", "signature", "public_key"))
        if not isinstance(content, Mapping) or not isinstance(signature, str) or not isinstance(key, str):
            raise FileFormatError("This receipt is not whole. Give the file as it was handed out.")
        added = next((name for name in data if name not in _ENTRIES), None)
        if added is not None:
            raise FileFormatError(
                f"This receipt has the entry {shown(added)}, which nobody signed. Give the file as it was handed out."
            )
        return cls(dict(content), signature, key)


def _bytes(text: str) -> bytes:
    """Base64 in its one form; others of the same bytes would be other texts of one receipt. Raises: ValueError."""
    raw = base64.b64decode(text, validate=True)
    if base64.b64encode(raw).decode() != text:
        raise ValueError("not as base64 is written")
    return raw


class Signer:
    """Signs receipts with one private key.

    Example: ``Signer.new().sign({"plan": ["Raise your savings to 2,000 EUR."]}).holds()``. Raises: MissingExtra.
    """

    def __init__(self, private: Ed25519PrivateKey) -> None:
        self._private = private

    @classmethod
    def new(cls) -> Signer:
        """Return a signer with a key of its own, drawn now."""
        require("cryptography", extra=_EXTRA)
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        return cls(Ed25519PrivateKey.generate())

    @classmethod
    def from_bytes(cls, seed: bytes) -> Signer:
        """Return the signer of a key that `to_bytes` gave (32 bytes). Raises: FileFormatError."""
        require("cryptography", extra=_EXTRA)
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        if not isinstance(seed, bytes | bytearray):
            raise FileFormatError(f"A signing key is 32 bytes; got {shown(seed)}. Check the key file.")
        if len(seed) != 32:
            raise FileFormatError(f"A signing key has 32 bytes, this has {len(seed)}. Check the key file.")
        return cls(Ed25519PrivateKey.from_private_bytes(bytes(seed)))

    def to_bytes(self) -> bytes:
        """Return the private key, 32 bytes, to be kept secret."""
        return self._private.private_bytes_raw()

    @property
    def public_key(self) -> str:
        """The public key, base64, to be published."""
        return base64.b64encode(self._private.public_key().public_bytes_raw()).decode()

    def sign(self, content: Mapping[str, Any]) -> Receipt:
        """Return the signed receipt of plain data. Raises: FileFormatError for what is not plain data."""
        signature = self._private.sign(canonical(content))
        return Receipt(dict(content), base64.b64encode(signature).decode(), self.public_key)
