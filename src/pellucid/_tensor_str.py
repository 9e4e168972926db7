"""``torch._tensor_str``: how tensors print. See ``_tensor/printing.py``."""

from pellucid._tensor.printing import PRINT_OPTS as PRINT_OPTS
from pellucid._tensor.printing import _str as _str
from pellucid._tensor.printing import _tensor_str as _tensor_str
from pellucid._tensor.printing import get_printoptions as get_printoptions
from pellucid._tensor.printing import printoptions as printoptions
from pellucid._tensor.printing import set_printoptions as set_printoptions
