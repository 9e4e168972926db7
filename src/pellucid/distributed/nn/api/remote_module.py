"""``RemoteModule``: a module on another worker, called like a local one."""

from __future__ import annotations

from typing import Any, NoReturn

from pellucid import nn
from pellucid.distributed import rpc
from pellucid.distributed.rpc.references import RRef
from pellucid.futures import Future

# Methods of local modules that remote modules do not support.
_NOT_REMOTE = (
    "register_buffer", "register_parameter", "add_module", "apply", "cuda", "ipu",
    "xpu", "cpu", "type", "float", "double", "half", "bfloat16", "to",
    "register_full_backward_hook", "register_backward_hook",
    "register_forward_pre_hook", "register_forward_hook", "state_dict",
    "load_state_dict", "parameters", "named_parameters", "buffers", "named_buffers",
    "children", "named_children", "modules", "named_modules", "requires_grad_",
    "zero_grad", "share_memory", "extra_repr",
)  # fmt: skip


def _make(module_cls: Any, args: Any, kwargs: Any, device: str) -> nn.Module:
    made: nn.Module = module_cls(*args, **kwargs)
    return made.to(device)


def _forward(module: RRef, args: Any, kwargs: Any) -> Any:
    return module.local_value()(*args, **kwargs)


def _parameters(module: RRef, recurse: bool) -> list[RRef]:
    return [RRef(each) for each in module.local_value().parameters(recurse)]


def _set_training(module: RRef, mode: bool) -> None:
    module.local_value().train(mode)


class RemoteModule(nn.Module):
    """A ``module_cls(*args, **kwargs)`` on the worker and device named by
    `remote_device` (``"worker1"``, ``"worker1/cpu"``, ``"rank:1/cpu"``).

    ``forward`` runs there; inside a context of ``torch.distributed.autograd`` its
    gradients are computed there too.

    Example: ``RemoteModule("worker1", nn.Linear, args=(20, 30))(torch.ones(8, 20))``.
    """

    def __init__(
        self,
        remote_device: str,
        module_cls: type[nn.Module],
        args: tuple[Any, ...] | None = None,
        kwargs: dict[str, Any] | None = None,
        _module_interface_cls: Any = None,
    ) -> None:
        super().__init__()
        if not isinstance(module_cls, type) or not issubclass(module_cls, nn.Module):
            raise ValueError(f"module_cls must be a class of nn.Module: {module_cls!r}")
        worker, _, device = remote_device.partition("/")
        if worker.startswith("rank:"):
            self.on: Any = int(worker.removeprefix("rank:"))
        else:
            self.on = worker
        self.device = device or "cpu"
        given = module_cls, tuple(args or ()), dict(kwargs or {}), self.device
        self.module_rref = rpc.remote(self.on, _make, args=given)
        self.module_rref.confirm()
        for name in _NOT_REMOTE:
            self.__dict__[name] = _refusal(name)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the module and waits for its result."""
        given = self.module_rref, args, kwargs
        return rpc.rpc_sync(self.module_rref.owner(), _forward, args=given)

    def forward_async(self, *args: Any, **kwargs: Any) -> Future:
        """A Future of the module's result."""
        given = self.module_rref, args, kwargs
        return rpc.rpc_async(self.module_rref.owner(), _forward, args=given)

    def remote_parameters(self, recurse: bool = True) -> list[RRef]:
        """References to the parameters, for ``DistributedOptimizer``."""
        found: list[RRef] = rpc.rpc_sync(
            self.module_rref.owner(), _parameters, args=(self.module_rref, recurse)
        )
        return found

    def get_module_rref(self) -> RRef:
        """The reference to the module."""
        return self.module_rref

    def train(self, mode: bool = True) -> RemoteModule:
        """Sets the remote module's mode."""
        given = self.module_rref, mode
        rpc.rpc_sync(self.module_rref.owner(), _set_training, args=given)
        self.training = mode
        return self


def _refusal(name: str) -> Any:
    def refuse(*args: Any, **kwargs: Any) -> NoReturn:
        raise ValueError(f"Method ``{name}`` not supported for RemoteModule")

    return refuse
