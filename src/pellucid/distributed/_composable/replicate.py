"""``replicate``: DistributedDataParallel that keeps the module and its names."""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from typing import Any

from pellucid import nn
from pellucid.distributed._composable.contract import _State, contract
from pellucid.nn.parallel import DistributedDataParallel

__all__: list[str] = []


class _ReplicateState(_State):
    _ddp: DistributedDataParallel


@contract(state_cls=_ReplicateState)
def replicate(
    module: nn.Module, ignored_modules: Iterable[nn.Module] | None = None, **kwargs: Any
) -> nn.Module:
    """Averages the module's gradients over the ranks in backward, without wrapping it;
    further options are those of ``DistributedDataParallel``.

    Example: ``model = replicate(nn.Linear(3, 3))``.
    """
    ignored = {id(p) for part in ignored_modules or () for p in part.parameters()}
    names = [name for name, p in module.named_parameters() if id(p) in ignored]
    DistributedDataParallel._set_params_and_buffers_to_ignore_for_model(module, names)
    ddp = DistributedDataParallel(module, **kwargs)
    replicate.state(module)._ddp = ddp
    own = weakref.ref(ddp)

    def prepare(*_: Any) -> None:
        wrapper = own()
        if wrapper is not None:
            wrapper._prepare_pass()

    module.register_forward_pre_hook(prepare)
    return module
