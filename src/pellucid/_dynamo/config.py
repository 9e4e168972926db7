"""``torch._dynamo.config``: settings for programs and libraries.

``disable`` is read in each call and runs compiled callables eagerly;
``recompile_limit``, ``error_on_recompile``, ``fail_on_recompile_limit_hit`` and
``suppress_errors`` concern graphs for a user's backend. The others have no effect in
this engine: it has no guards, so sizes and attributes never cause recompilation.
"""

from __future__ import annotations

import sys

from pellucid._compile.accepted_settings import DYNAMO
from pellucid.utils._config_module import install_config_module

disable = False
suppress_errors = False
recompile_limit = 8
fail_on_recompile_limit_hit = False
error_on_recompile = False
traceable_tensor_subclasses: set[type] = set()

install_config_module(
    sys.modules[__name__],
    DYNAMO,
    {
        "cache_size_limit": "recompile_limit",
        "accumulated_cache_size_limit": "accumulated_recompile_limit",
    },
)
