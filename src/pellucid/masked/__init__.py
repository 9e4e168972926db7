"""``masked``: reductions and normalizations over the elements selected by a mask.

A mask is a tensor of bools that broadcasts to the input; elements where it is false are
replaced by the reduction's identity. ``MaskedTensor`` stores a mask with its data.
Imported lazily.
"""

from pellucid.masked._normalizations import *
from pellucid.masked._reductions import *
from pellucid.masked.maskedtensor import *
from pellucid.masked.maskedtensor import _rules as _rules
