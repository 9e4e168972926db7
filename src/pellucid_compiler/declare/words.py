"""Random numbers from the generator's 32-bit words, as PyTorch draws them on the CPU.

A ``random`` op declares how many words each element draws; its body receives them as
the last argument, int32 bit patterns in stream order. The runtime draws the words of
all elements serially, so the transforms here can run in parallel with the same result.
"""

from __future__ import annotations

from pellucid_compiler.ir.expr import Expr, cast, const, make

_WORD = const((1 << 32) - 1, "int64")


def unsigned(word: Expr) -> Expr:
    """The 32 bits as an int64 from 0 to 2**32 - 1."""
    return make("bitand", cast(word, "int64"), _WORD)


def wide_word(high: Expr, low: Expr) -> Expr:
    """Two words as one 64-bit pattern, the first one in the high half."""
    return make("bitor", make("shl", cast(high, "int64"), 32), unsigned(low))


def uniform_double(high: Expr, low: Expr) -> Expr:
    """A float64 in [0, 1) from the lower 53 bits of two words."""
    bits = make("bitand", wide_word(high, low), const((1 << 53) - 1, "int64"))
    return cast(bits, "float64") * const(2.0**-53, "float64")


def uniform_single(word: Expr) -> Expr:
    """A float32 in [0, 1) from the lower 24 bits of one word."""
    bits = make("bitand", word, const((1 << 24) - 1, "int32"))
    return cast(bits, "float32") * const(2.0**-24, "float32")
