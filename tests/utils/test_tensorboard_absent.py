"""`torch.utils.tensorboard` without the package that writes its files."""

import sys

import pytest


class Absent:
    """Finds no package of this name, as where it is not installed."""

    def __init__(self, package):
        self.package = package

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == self.package:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def test_the_error_names_the_package_to_install(monkeypatch):
    for name in list(sys.modules):
        parts = name.split(".")
        if parts[0] == "tensorboard" or parts[1:3] == ["utils", "tensorboard"]:
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "meta_path", [Absent("tensorboard"), *sys.meta_path])
    with pytest.raises(ModuleNotFoundError, match="pip install tensorboard") as info:
        import pellucid.utils.tensorboard  # noqa: F401
    assert info.value.name == "tensorboard"
