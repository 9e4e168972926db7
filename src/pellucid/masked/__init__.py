"""``masked``: reductions and normalizations of those elements that a mask names.

A mask is a tensor of bools that broadcasts to the input; elements where it is false
are replaced by what leaves the result alone. ``MaskedTensor`` carries its mask along.
Imported lazily.
"""

from pellucid.masked._normalizations import *
from pellucid.masked._reductions import *
from pellucid.masked.maskedtensor import *
