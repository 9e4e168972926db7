"""``python -m pellucid.devices.check my_module:MyBackend``: the report of a backend.

The backend is a class or an object of a module, or of a file (``toy_device.py:Toy``);
``twin`` is the device whose memory the CPU cannot touch, ``library.so:name`` a device
type of a library in C++. The exit status is 1 where a
check failed.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pellucid as torch
from pellucid.devices.check import SECTIONS, run


def _module(name: str) -> ModuleType:
    if not name.endswith(".py"):
        sys.path.insert(0, "")
        return importlib.import_module(name)
    spec = importlib.util.spec_from_file_location(Path(name).stem, name)
    if spec is None or spec.loader is None:
        raise SystemExit(f"{name} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[module.__name__] = module
    spec.loader.exec_module(module)
    return module


def _found(text: str) -> torch.devices.Backend | str:
    """The backend that the command names."""
    if text == "twin":
        torch.devices.register_twin()
        return text
    name, _, attribute = text.partition(":")
    if name.endswith(".so"):
        torch.ops.load_library(name)
        return attribute
    module = _module(name)
    named = [getattr(module, attribute, None)] if attribute else vars(module).values()
    kinds = [
        item
        for item in named
        if isinstance(item, type)
        and issubclass(item, torch.devices.Backend)
        and item.name
    ]
    if len(kinds) != 1:
        raise SystemExit(
            f"{text} names {len(kinds)} subclasses of pellucid.devices.Backend with a "
            "name; expected module:Class"
        )
    return kinds[0]()


def main() -> int:
    parser = argparse.ArgumentParser("python -m pellucid.devices.check", None, __doc__)
    parser.add_argument(
        "backend", help="module:Class, file.py:Class, library.so:name, or twin"
    )
    parser.add_argument("sections", nargs="*", help=", ".join(SECTIONS))
    parser.add_argument(
        "--timeout", type=float, default=120.0, help="of one check, in s"
    )
    arguments = parser.parse_args()
    sections = arguments.sections or tuple(SECTIONS)
    try:
        report = run(_found(arguments.backend), sections, timeout=arguments.timeout)
    except ValueError as error:
        raise SystemExit(str(error)) from None
    print(report)
    return 0 if report else 1


if __name__ == "__main__":
    sys.exit(main())
