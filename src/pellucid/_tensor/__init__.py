"""``torch._tensor``: the Tensor class and what is written in Python about it.

Read ``tensor.py`` first.
"""

from pellucid._tensor.tensor import TYPE_NAMES as TYPE_NAMES
from pellucid._tensor.tensor import Tensor as Tensor
from pellucid._tensor.tensor import _rebuild_subclass as _rebuild_subclass
from pellucid._tensor.tensor import _rebuild_tensor as _rebuild_tensor
from pellucid._tensor.tensor import _SharedStorage as _SharedStorage
from pellucid._tensor.tensor import convert_result as convert_result
from pellucid._tensor.tensor import dtype_of_type_name as dtype_of_type_name
from pellucid._tensor.tensor import leaf_of as leaf_of
from pellucid._tensor.tensor import legacy_constructor as legacy_constructor
