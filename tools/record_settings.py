"""Records the names and defaults of settings of PyTorch's compilers.

``python tools/record_settings.py`` with PyTorch installed writes
``src/pellucid/_compile/accepted_settings.py``. Settings of one vendor's tools, of tests
and of services are left out.
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
LEFT_OUT = (
    *("aot_inductor", "autoheuristic", "aten_distributed", "cuda", "cutlass", "halide"),
    *("rocm", "test_configs", "xpu", "nvgemm", "cutedsl", "tpu", "mtia", "base_dir"),
    *(
        "debug_dir_root",
        "repro_",
        "issue_",
        "inject_",
        "TYPE_CHECKING",
        "compile_threads",
    ),
)
TEXT = '''"""Settings of PyTorch's compilers that programs set: names and defaults.

They choose among code generators and caches that this engine does not have, and so have
no effect; what has one is in ``_dynamo/config.py``. Written by
``tools/record_settings.py``.
"""

from __future__ import annotations

from typing import Any, Final
'''


def settings_of(module: str) -> dict[str, object]:
    """The plain settings by name; those of a group have its name and a dot."""
    values = importlib.import_module(module).get_config_copy()
    return {
        name: value
        for name, value in sorted(values.items())
        if (value is None or isinstance(value, bool | int | float | str))
        and not name.startswith(("_", *LEFT_OUT))
        and "TESTING" not in name
        and not (isinstance(value, str) and "/" in value)
    }


def main() -> None:
    parts = [TEXT]
    for name, module in MODULES.items():
        shown = pprint.pformat(settings_of(module), width=84, sort_dicts=False)
        parts.append(f"{name}: Final[dict[str, Any]] = {shown}\n")
    TARGET.write_text("\n".join(parts))


if __name__ == "__main__":
    main()
