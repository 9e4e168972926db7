"""The tagged encoding: round trips, and detection of damage."""

import pytest

from pellucid_compiler.abi.encode import decode, encode

VALUES = [
    None,
    True,
    False,
    0,
    -1,
    (1 << 63) - 1,
    -(1 << 63),
    0.5,
    float("inf"),
    1 + 2j,
    "größe",
    b"\x00\xff",
    [1, [2.5, None], "x"],
]


@pytest.mark.parametrize("value", VALUES)
def test_decode_gives_what_was_encoded(value):
    assert decode(encode(value)) == value


def test_every_cut_is_an_error():
    data = encode([1, "text", [2.0, b"bytes"]])
    for end in range(len(data)):
        with pytest.raises(ValueError):
            decode(data[:end])


def test_bytes_after_the_value_are_an_error():
    with pytest.raises(ValueError, match="follow"):
        decode(encode(1) + b"\x00")


def test_integers_beyond_64_bits_are_refused():
    with pytest.raises(OverflowError):
        encode(1 << 63)
