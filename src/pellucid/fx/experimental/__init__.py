"""``torch.fx.experimental``: ``make_fx``, symbolic shapes, passes for inference."""

from pellucid._package.calls.submodules import submodules

__getattr__ = submodules(__name__)
