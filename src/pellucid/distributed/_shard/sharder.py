"""``Sharder``: what replaces a module by one of sharded parameters, in a plan."""

from __future__ import annotations

import abc

from pellucid import nn


class Sharder(abc.ABC):
    """A way to shard a module that specs of its parameters do not say."""

    @abc.abstractmethod
    def shard(self, module: nn.Module) -> nn.Module:
        """The module that takes the place of ``module``."""
