"""Numbers that both sides must agree on: sizes of tables, places, layouts of words.

``headers.py`` writes runtime/abi/limits.h from them, ``NAME_LIKE_THIS`` as
``kNameLikeThis``. The compiler refuses what is beyond a limit, or cuts it; a decoder
refuses it too.
"""

from __future__ import annotations

from typing import Final

MAX_DIMS: Final = 64  # of a tensor
MAX_ARGUMENTS: Final = 32  # of an op; wider ones pass lists
MAX_RETURNS: Final = 8
MAX_AXES: Final = 24  # of one nest
MAX_NEST_OPERANDS: Final = 32
MAX_MAP_OPERANDS: Final = 24
MAX_STEP_PARAMS: Final = 32  # numbers that one kernel takes
MAX_POINTWISE_ARGUMENTS: Final = 15  # a byte each in 128 bits, beside the common dtype
MAX_MAP_OUTPUTS: Final = 8
MAX_MAP_PARAMS: Final = 12

NO_REGISTER: Final = 0xFFFF  # of a plan: encoded as -1
FIRST_DRAW: Final = 128  # operand FIRST_DRAW + w of a function is random word w

FIRST_VALUE: Final = 1 << 16  # of places in a group: inputs are below
ONE: Final = 0xFFFF  # what a number of a group equals that is 1.0

# A pointwise key has a byte per argument: a tensor's dtype code, or one of these.
KEY_NUMBER: Final = 253
KEY_NONE: Final = 254
KEY_STATIC: Final = 255  # the value follows the key

STATUS_SHIFT: Final = 48  # a kernel returns code << STATUS_SHIFT | detail
OUTSIDE_BITS: Final = 21  # of the element and of the extent in OUTSIDE_OPERAND's detail

TRIANGLE_ROWS: Final = 64  # of a piece of a triangle's rows, at least
TRIANGLE_PIECES: Final = 8  # with so many a triangle does little for nothing
SMALL_B_ELEMENTS: Final = 40_000  # of a B whose rows are aligned: read in place
WORKSPACE_BYTES: Final = 3 << 19  # that a driver lends a product's kernel
FROZEN_MAGIC: Final = b"PLCDFRZ6"  # begins frozen.bin, with its version
PACK_MAGIC: Final = b"PLCDPACK"  # begins a kernel pack
PACK_VERSION: Final = 1
PACK_ALIGNMENT: Final = 64  # of a kernel in a pack, as pack/link.py aligns it
KERNEL_ID_BYTES: Final = 16

NAMES: Final = tuple(name for name in list(vars()) if name.isupper())
