"""Receipts beside those who forge them: what is signed, by whom, and what only looks so."""

from __future__ import annotations

import base64
import json

import pytest

from wayforward.answers.receipt import _PRIME, Receipt, Signer
from wayforward.errors import FileFormatError

pytest.importorskip("cryptography")

OF_EIGHT = (
    0x05FC536D880238B13933C6D305ACDFD5F098EFF289F4C345B027B2C28F95E826  # the y of a point of order eight
)
SMALL = {
    "zero": 1, "two": _PRIME - 1, "four": 0, "eight": OF_EIGHT, "eight, the other": _PRIME - OF_EIGHT,
    "four, not reduced": _PRIME, "zero, not reduced": _PRIME + 1,
}  # fmt: skip


def text(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


@pytest.mark.parametrize("sign", [0, 1])
@pytest.mark.parametrize("point", SMALL)
def test_a_key_that_signs_everything_signs_nothing(point: str, sign: int):
    """S B = R + h A holds with S and R zero for every content whose hash h the order divides: some of these."""
    key = (SMALL[point] | sign << 255).to_bytes(32, "little")
    signature = text((1).to_bytes(32, "little") + bytes(32))
    for i in range(30):
        assert not Receipt({"a": i}, signature, text(key)).holds()


def test_honest_receipts_hold_by_their_own_key_and_by_no_other():
    for _ in range(20):
        receipt = Signer.new().sign({"plan": ["Save 200 EUR."], "n": 1})
        assert receipt.holds() and receipt.holds(receipt.public_key)
        assert Receipt.from_dict(receipt.to_dict()).holds()
        assert not receipt.holds(Signer.new().public_key)


@pytest.mark.parametrize("change", [{"note": "PAID"}, {"version": True}, {"version": 1.0}, {3: 1}])
def test_what_nobody_signed_is_no_part_of_a_receipt(change: dict):
    with pytest.raises(FileFormatError, match="nobody signed|version"):
        Receipt.from_dict(Signer.new().sign({"a": 1}).to_dict() | change)


@pytest.mark.parametrize("content", [None, [1], "x", {"a": object()}, {"a": float("nan")}])
def test_what_is_no_table_is_not_signed(content: object):
    with pytest.raises(FileFormatError, match="A receipt holds"):
        Signer.new().sign(content)


@pytest.mark.parametrize("seed", ["x" * 32, None, b"", [1] * 32])
def test_a_key_of_anything_else_than_bytes_is_told(seed: object):
    with pytest.raises(FileFormatError, match="32 bytes"):
        Signer.from_bytes(seed)


def test_a_receipt_is_one_text():
    """With "content" twice a forged one stood before the signed one and was told to hold; base64 has idle bits."""
    receipt = Signer.new().sign({"plan": ["Save 200 EUR."]})
    plain = receipt.to_dict()
    whole = json.dumps(plain)
    assert Receipt.from_json(whole).holds() and Receipt.from_json(whole.encode()).holds()
    forged = '{"content": {"plan": ["PAID"]}, ' + whole[1:]
    with pytest.raises(FileFormatError, match="cannot be read: 'content' is there twice"):
        Receipt.from_json(forged)
    for text in (whole.replace('{"plan"', '{"plan": [], "plan"'), "", "[" * 100_000, b"\xff", None):
        with pytest.raises(FileFormatError, match="This receipt"):
            Receipt.from_json(text)
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    for name in ("signature", "public_key"):
        at = plain[name].rstrip("=")
        others = [plain | {name: at[:-1] + one + plain[name][len(at) :]} for one in letters if one != at[-1]]
        assert not any(Receipt.from_dict(one).holds() for one in others)
