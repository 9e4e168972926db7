"""``torch._inductor.config``: settings that programs set; none has an effect here."""

from __future__ import annotations

import sys

from pellucid._compile.accepted_settings import INDUCTOR
from pellucid.utils._config_module import install_config_module

install_config_module(sys.modules[__name__], INDUCTOR)
