"""``torch.fx.passes``: analyses and transforms of whole graphs."""

from pellucid._package.calls.submodules import submodules

__getattr__ = submodules(__name__)
