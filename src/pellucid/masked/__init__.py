"""``masked``: reductions and normalizations of those elements that a mask names.

A mask is a tensor of bools that broadcasts to the input; elements where it is false
are replaced by what leaves the result alone. Imported lazily.
"""

from pellucid.masked._normalizations import *
from pellucid.masked._reductions import *
