"""Random numbers from a generator's 32-bit words, as PyTorch draws them on the CPU.

A ``random`` op declares how many words each element draws; its body receives them as
the last argument, int32 bit patterns in stream order. The runtime draws the words of
all elements first (runtime/kernels/random_words.h): those of the CPU's generator
serially, those of a device's by Philox. So the transforms here can run in parallel with
the same result.
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


_MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
_KEY_STEPS = (0x9E3779B9, 0xBB67AE85)
_ROUNDS = 10


def _halves(wide: Expr) -> tuple[Expr, Expr]:
    """The upper and the lower 32 bits, each an int64 from 0 to 2**32 - 1."""
    high = make("bitand", make("shr", wide, const(32, "int64")), _WORD)
    return high, make("bitand", wide, _WORD)


def philox(key: Expr, counter: tuple[Expr, Expr]) -> tuple[Expr, ...]:
    """Four words, int32 bit patterns, of Philox4x32-10: a function of a key of 64 bits
    and a counter of 128, its lower half first.

    Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3, 2011.
    """
    key_high, key_low = _halves(key)
    (second, first), (fourth, third) = map(_halves, counter)
    keys = [key_low, key_high]
    for number in range(_ROUNDS):
        if number:
            steps = zip(keys, _KEY_STEPS, strict=True)
            keys = [
                make("bitand", k + const(step, "int64"), _WORD) for k, step in steps
            ]
        high_1, low_1 = _halves(first * const(_MULTIPLIERS[0], "int64"))
        high_3, low_3 = _halves(third * const(_MULTIPLIERS[1], "int64"))
        mixed = [make("bitxor", make("bitxor", high_3, second), keys[0])]
        mixed += [make("bitxor", make("bitxor", high_1, fourth), keys[1])]
        first, second, third, fourth = mixed[0], low_3, mixed[1], low_1
    return tuple(cast(word, "int32") for word in (first, second, third, fourth))
