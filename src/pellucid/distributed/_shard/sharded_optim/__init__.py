"""``torch.distributed._shard.sharded_optim``: optimizers of the parts of parameters.

Read next: ``api.py``.
"""

from __future__ import annotations

from collections.abc import Iterator

from pellucid import nn
from pellucid.distributed._shard.sharded_optim.api import (
    ShardedOptimizer as ShardedOptimizer,
)
from pellucid.distributed._shard.sharded_tensor import ShardedTensor


def named_params_with_sharded_tensor(
    module: nn.Module, prefix: str = "", recurse: bool = True
) -> Iterator[tuple[str, nn.Parameter | ShardedTensor]]:
    """A module's parameters by name, and the ShardedTensors that it or its submodules
    have as plain attributes, which come first.
    """
    seen: set[int] = set()
    modules = module.named_modules(prefix=prefix) if recurse else [(prefix, module)]
    for path, owner in modules:
        for name, value in vars(owner).items():
            if isinstance(value, ShardedTensor) and id(value) not in seen:
                seen.add(id(value))
                yield f"{path}.{name}" if path else name, value
    yield from module.named_parameters(prefix=prefix, recurse=recurse)
