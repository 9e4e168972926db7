"""The sizes of GEMM's tiles and blocks for one dtype on one target, and the types of
their elements.

Read by every part of GEMM. Read next: ``gemm_tile.py``.
"""

from __future__ import annotations

from dataclasses import dataclass

from pellucid_compiler.codegen.builder import Type, Value
from pellucid_compiler.codegen.formats import memory_type, register_type
from pellucid_compiler.codegen.schedules.gemm_words import OFFSET, Factors
from pellucid_compiler.codegen.targets.x86 import Target

# The depth of a block of k. A tile's sum in registers is one chain of rounded
# additions; longer chains would lose accuracy.
BLOCK_DEPTH = 192

_ACCUMULATORS = {
    "float16": "float32",
    "bfloat16": "float32",
    "uint8": "int32",
    "int8": "int32",
    "int16": "int32",
}


@dataclass(frozen=True)
class Tiling:
    """Tile and block sizes for one dtype on one target.

    Sums have the dtype ``accumulator``, which is wider than a narrow ``dtype``. A tile
    is at most ``rows`` high and ``vectors`` wide. Blocks of B have ``depth`` by
    ``columns`` elements.
    """

    dtype: str
    accumulator: str
    lanes: int
    rows: int
    vectors: int
    depth: int
    columns: int
    factors: Factors = Factors.ELEMENTS
    word: int = 1  # elements of consecutive k in one element of a panel

    @property
    def is_ordered(self) -> bool:
        """Whether A and B must not be swapped: both are words of int8."""
        return self.factors in (Factors.DOTS, Factors.PAIRS)

    @property
    def offset(self) -> int:
        """The excess of each sum, as a multiple of the sum of A's row."""
        return OFFSET if self.factors is Factors.DOTS else 0

    @property
    def is_narrow(self) -> bool:
        return self.dtype != self.accumulator

    @property
    def always_packs(self) -> bool:
        """Whether the elements of panels differ from those of A and B."""
        return self.is_narrow or self.word > 1

    @property
    def has_dots(self) -> bool:
        """Whether products of few rows may be dot products (``gemm_dot.py``)."""
        return not self.is_narrow or self.word > 1

    @property
    def stored_bytes(self) -> int:
        """Bytes of an element of A, B, C and the bias."""
        return memory_type(self.dtype).element_bytes

    @property
    def element(self) -> Type:
        return register_type(self.accumulator)

    @property
    def vector(self) -> Type:
        return self.element.with_lanes(self.lanes)

    @property
    def panel_element(self) -> Type:
        """The type of an element of panels: a number or a word."""
        return self.element.as_integer() if self.word > 1 else self.element

    @property
    def panel_vector(self) -> Type:
        return self.panel_element.with_lanes(self.lanes)

    def panel_rows(self, k: Value) -> Value:
        """The rows of a panel for ``k`` elements; the last word is padded with
        zeros.
        """
        if self.word == 1:
            return k
        shift = self.word.bit_length() - 1
        return k.function.binary("lshr", k + (self.word - 1), shift)

    @property
    def width(self) -> int:
        """Columns of a full tile, and of one packed panel of B."""
        return self.lanes * self.vectors

    @property
    def element_bytes(self) -> int:
        return self.element.element_bytes

    @property
    def vector_bytes(self) -> int:
        return self.lanes * self.element_bytes

    @property
    def vectors_of_a(self) -> int:
        """Vectors per k of a packed panel of A."""
        return -(-self.rows // self.lanes)

    @property
    def packed_b_bytes(self) -> int:
        return self.depth // self.word * self.columns * self.element_bytes

    @property
    def packed_bytes(self) -> int:
        """Bytes of the workspace for a packed block of B and a packed panel of A."""
        a_bytes = self.depth // self.word * self.vectors_of_a * self.vector_bytes
        return self.packed_b_bytes + a_bytes

    def wide_vectors(self, rows: int) -> int:
        """The tile width, in vectors, for few rows and unpacked B: enough accumulators
        to hide the latency of multiply-add; 0 if the ordinary tile has enough.
        """
        registers = self.rows * self.vectors + self.vectors + 2
        rows_and_b = rows + 1 if rows > 1 else rows  # one row reads B from memory
        most = min(8, (registers - 2) // rows_and_b)
        wide = 1 << (most.bit_length() - 1)
        return wide if wide > self.vectors else 0


# Rows and vectors of a tile, by (number of registers, whether words are widened).
_TILES = {(32, False): (14, 2), (32, True): (12, 2), (16, False): (6, 2)}


_TILES[16, True] = (4, 2)


def tiling(target: Target, dtype: str, result: str | None = None) -> Tiling:
    """Tiles that fill the target's registers, and blocks that fit a 1 MiB L2 cache.
    ``result``: the dtype of the product, if it differs from that of the factors."""
    factors, word = Factors.ELEMENTS, 1
    if dtype == "bfloat16" and target.has_bfloat16_dots:
        factors, word = Factors.BFLOATS, 2
    if result not in (None, dtype):
        assert (dtype, result) == ("int8", "int32")
        factors = Factors.DOTS if target.has_dots else Factors.PAIRS
        dtype = "int32"
    accumulator = _ACCUMULATORS.get(dtype, dtype)
    element = register_type(accumulator)
    widens = factors is Factors.PAIRS
    rows, vectors = _TILES[target.num_vector_registers, widens]
    lanes = target.lanes(element)
    return Tiling(
        *(dtype, accumulator, lanes, rows, vectors),
        depth=BLOCK_DEPTH * word,
        columns=512,
        factors=factors,
        word=word,
    )
