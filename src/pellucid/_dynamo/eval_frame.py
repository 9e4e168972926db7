"""The type that libraries ask compiled modules for."""

from pellucid.nn import Module


class OptimizedModule(Module):
    """A module whose calls are captured: ``torch.compile`` gives none of these."""
