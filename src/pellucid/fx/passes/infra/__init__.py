"""``torch.fx.passes.infra``: pass objects, the pass manager, the partitioner."""

from pellucid._package.calls.submodules import submodules

__getattr__ = submodules(__name__)
