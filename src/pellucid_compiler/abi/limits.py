"""Numbers that both sides must agree on: table sizes, special values, layouts of words.

``headers.py`` writes runtime/abi/limits.h from them, ``NAME_LIKE_THIS`` as
``kNameLikeThis``. The compiler refuses or splits what exceeds a limit; a decoder
refuses it.
"""

from __future__ import annotations

from typing import Final

MAX_DIMS: Final = 64  # of a tensor
MAX_ARGUMENTS: Final = 32  # of an op; beyond that, pass lists
MAX_RETURNS: Final = 8
MAX_AXES: Final = 24  # of one nest
MAX_NEST_OPERANDS: Final = 32
MAX_MAP_OPERANDS: Final = 24
MAX_STEP_PARAMS: Final = 32  # numbers that a kernel takes
MAX_POINTWISE_ARGUMENTS: Final = 15  # 128 bits: a byte each, and the common dtype
MAX_MAP_OUTPUTS: Final = 8
MAX_MAP_PARAMS: Final = 12

NO_REGISTER: Final = 0xFFFF  # of a plan: encoded as -1
FIRST_DRAW: Final = 128  # operand FIRST_DRAW + w of a function is random word w

FIRST_VALUE: Final = 1 << 16  # of places in a group; inputs have the numbers below
ONE: Final = 0xFFFF  # of a number in a group that equals 1.0

# A pointwise key has a byte per argument: a tensor's dtype code, or one of these.
KEY_NUMBER: Final = 253
KEY_NONE: Final = 254
KEY_STATIC: Final = 255  # the value follows the key

STATUS_SHIFT: Final = 48  # a kernel returns code << STATUS_SHIFT | detail
OUTSIDE_BITS: Final = 21  # of the element and of the extent in OUTSIDE_OPERAND's detail

TRIANGLE_ROWS: Final = 64  # minimum per piece of a triangle's rows
TRIANGLE_PIECES: Final = 8  # with this many, a triangle wastes little work
SMALL_B_ELEMENTS: Final = 40_000  # a B with aligned rows up to this: read in place
WORKSPACE_BYTES: Final = 3 << 19  # that a driver provides to a product's kernel
FROZEN_MAGIC: Final = b"PLCDFRZ8"  # at the start of frozen.bin, with its version
PACK_MAGIC: Final = b"PLCDPACK"  # at the start of a kernel pack
PACK_VERSION: Final = 2
MOST_INFLATED: Final = 1032  # bytes from a byte: the format of zlib cannot express more
CODE_ALIGNMENT: Final = 64  # in bytes, of machine code in memory
KERNEL_ID_BYTES: Final = 16

NAMES: Final = tuple(name for name in list(vars()) if name.isupper())
