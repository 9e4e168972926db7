"""``torch.utils.data._utils``: internals of data loading that libraries import."""

from pellucid._package.calls.submodules import submodules

"""``torch.utils.data._utils``: internals of data loading that libraries import."""

__getattr__ = submodules(__name__)
