"""Records the names and defaults of settings of PyTorch's compilers.

``python tools/record_settings.py`` with PyTorch installed writes
``src/pellucid/_compile/accepted_settings.py``.
"""

from __future__ import annotations

import importlib
import pprint
from pathlib import Path

TARGET = Path(__file__).parents[1] / "src/pellucid/_compile/accepted_settings.py"
MODULES = {
    "DYNAMO": "torch._dynamo.config",
    "INDUCTOR": "torch._inductor.config",
    "FUNCTORCH": "torch._functorch.config",
    "COMPILER": "torch.compiler.config",
}
# Depend on the machine.
LEFT_OUT = ("TYPE_CHECKING", "base_dir", "debug_dir_root")
TEXT = '''"""Settings of PyTorch's compilers that programs set: names and defaults.

They choose among code generators and caches that this engine does not have, and so have
no effect; what has one is in ``_dynamo/config.py``. Written by
``tools/record_settings.py``.
"""
# ruff: noqa: E501

from __future__ import annotations

from typing import Any, Final
'''


def settings_of(module: str) -> dict[str, object]:
    """The settings by name; those of a group have its name and a dot. Values that
    depend on the machine, and objects, are None.
    """
    values = importlib.import_module(module).get_config_copy()
    return {
        name: _plain(value, name)
        for name, value in sorted(values.items())
        if not name.startswith(("_", *LEFT_OUT)) and not callable(value)
    }


def _plain(value: object, name: str) -> object:
    is_local = (isinstance(value, str) and "/" in value) or name == "compile_threads"
    if is_local or not _is_literal(value):
        return None
    return value


def _is_literal(value: object) -> bool:
    if isinstance(value, dict):
        return all(map(_is_literal, [*value, *value.values()]))
    if isinstance(value, list | tuple | set):
        return all(map(_is_literal, value))
    return value is None or type(value) in (bool, int, float, str)


def main() -> None:
    parts = [TEXT]
    for name, module in MODULES.items():
        shown = pprint.pformat(settings_of(module), width=84, sort_dicts=False)
        parts.append(f"{name}: Final[dict[str, Any]] = {shown}\n")
    TARGET.write_text("\n".join(parts))


if __name__ == "__main__":
    main()
