"""``torch._functorch.vmap``: ``func/_vmap.py`` under the name that libraries patch."""

import sys

from pellucid.func import _vmap

sys.modules[__name__] = _vmap
