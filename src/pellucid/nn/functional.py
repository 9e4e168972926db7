"""``nn.functional``: ops of the catalogue, and Python functions over them.

Ops whose declarations name this module (``also``) are added at the end, as the same
callables that ``_C._nn`` or the package has; they are not listed. Functions whose
signatures differ from their ops' are written in ``_functional``: an ``inplace`` flag,
the deprecated ``size_average`` and ``reduce``, reductions by name where ops take
numbers, and defaults that Python computes. As in PyTorch, the module shows no private
names.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING
from typing import Any as _Any

import pellucid as torch
from pellucid import Tensor
from pellucid._C import _nn_functional
from pellucid._package.calls.overridable import make_overridable
from pellucid._package.lazy import put_values
from pellucid.nn import grad as grad  # PyTorch's module has this name too
from pellucid.nn._functional.activation import *
from pellucid.nn._functional.attention import *
from pellucid.nn._functional.attention import _canonical_mask as _canonical_mask
from pellucid.nn._functional.attention import _none_or_dtype as _none_or_dtype
from pellucid.nn._functional.dropout import *
from pellucid.nn._functional.elementwise_losses import *
from pellucid.nn._functional.embedding import *
from pellucid.nn._functional.linear_cross_entropy import *
from pellucid.nn._functional.losses import *
from pellucid.nn._functional.norms import *
from pellucid.nn._functional.pooling import *
from pellucid.nn._functional.products import *
from pellucid.nn._functional.vision import *

globals().update({n: f for n, f in vars(_nn_functional).items() if n[0] != "_"})

make_overridable(globals(), parts="pellucid.nn._functional")
del make_overridable, _nn_functional

GRID_SAMPLE_INTERPOLATION_MODES = {"bilinear": 0, "nearest": 1, "bicubic": 2}
GRID_SAMPLE_PADDING_MODES = {"zeros": 0, "border": 1, "reflection": 2}


def assert_int_or_pair(arg: _Any, arg_name: str, message: str) -> None:
    """AssertionError, of ``message`` with the name, for a list not of two."""
    if not isinstance(arg, int) and len(arg) != 2:
        raise AssertionError(message.format(arg_name))


# Names of modules above that PyTorch's module has too.
put_values(
    globals(),
    {
        **dict.fromkeys(
            ("BroadcastingList1", "BroadcastingList2", "BroadcastingList3"),
            "jit.annotations",
        ),
        "boolean_dispatch": "_jit_internal",
        "handle_torch_function": "overrides",
        "has_torch_function": "overrides",
        "has_torch_function_unary": "overrides",
        "has_torch_function_variadic": "overrides",
    },
    overridable=False,
)
del put_values

if TYPE_CHECKING:  # names from the op table
    from pellucid._C._op_types.nn_functional import *
