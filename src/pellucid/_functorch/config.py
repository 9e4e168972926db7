"""``torch._functorch.config``: settings that programs set.

``activation_memory_budget`` has an effect (docs/compile.md), the others have none.
"""

from __future__ import annotations

import sys

from pellucid._compile.accepted_settings import FUNCTORCH
from pellucid.utils._config_module import install_config_module

activation_memory_budget: float

install_config_module(sys.modules[__name__], FUNCTORCH)
