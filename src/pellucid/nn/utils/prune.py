"""Pruning: masks that hold parts of a parameter at zero.

``module.weight`` becomes ``weight_orig * weight_mask``, computed before each forward;
``remove`` makes the zeros permanent. Methods choose which entries are pruned; read
``BasePruningMethod`` first.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any

import pellucid
from pellucid import Tensor
from pellucid.nn.modules.module import Module

__all__ = [
    "BasePruningMethod",
    "CustomFromMask",
    "Identity",
    "L1Unstructured",
    "LnStructured",
    "PruningContainer",
    "RandomStructured",
    "RandomUnstructured",
    "custom_from_mask",
    "global_unstructured",
    "identity",
    "is_pruned",
    "l1_unstructured",
    "ln_structured",
    "random_structured",
    "random_unstructured",
    "remove",
]


class BasePruningMethod(ABC):
    """A method of computing masks; ``PRUNING_TYPE`` is "unstructured", "structured" or
    "global".
    """

    _tensor_name: str
    PRUNING_TYPE = "unstructured"

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """A mask for ``t`` that includes the zeros of ``default_mask``."""

    def apply_mask(self, module: Module) -> Tensor:
        """The parameter times its mask."""
        mask = getattr(module, f"{self._tensor_name}_mask")
        original = getattr(module, f"{self._tensor_name}_orig")
        pruned: Tensor = mask.to(dtype=original.dtype) * original
        return pruned

    @classmethod
    def apply(
        cls,
        module: Module,
        name: str,
        *args: Any,
        importance_scores: Tensor | None = None,
        **kwargs: Any,
    ) -> BasePruningMethod:
        """Prunes the parameter ``name``, in addition to earlier pruning."""
        method: BasePruningMethod = cls(*args, **kwargs)
        method._tensor_name = name
        before = [
            (key, hook)
            for key, hook in module._forward_pre_hooks.items()
            if isinstance(hook, BasePruningMethod) and hook._tensor_name == name
        ]
        tensor = getattr(module, name)
        scores = tensor if importance_scores is None else importance_scores
        if scores.shape != tensor.shape:
            raise AssertionError(
                f"importance_scores have shape {tuple(scores.shape)}, the parameter "
                f"{tuple(tensor.shape)}"
            )
        hook = method
        if before:
            (key, old), *_ = before
            hook = PruningContainer(old)
            hook.add_pruning_method(method)
            del module._forward_pre_hooks[key]
            default = getattr(module, f"{name}_mask").to(tensor.dtype)
        else:
            original = module._parameters.pop(name)
            module.register_parameter(f"{name}_orig", original)
            default = pellucid.ones_like(tensor)
        with pellucid.no_grad():
            mask = hook.compute_mask(scores.detach(), default)
        module.register_buffer(f"{name}_mask", mask)
        setattr(module, name, hook.apply_mask(module))
        module.register_forward_pre_hook(hook)
        return hook

    def prune(
        self,
        t: Tensor,
        default_mask: Tensor | None = None,
        importance_scores: Tensor | None = None,
    ) -> Tensor:
        """``t`` times the mask computed for it."""
        scores = t if importance_scores is None else importance_scores
        mask = pellucid.ones_like(t) if default_mask is None else default_mask
        return t * self.compute_mask(scores, mask)

    def remove(self, module: Module) -> None:
        """Makes the pruned value permanent and removes the hook."""
        name = self._tensor_name
        pruned = self.apply_mask(module)
        if hasattr(module, name):
            delattr(module, name)
        original = module._parameters.pop(f"{name}_orig")
        assert original is not None
        original.data = pruned.data
        del module._buffers[f"{name}_mask"]
        setattr(module, name, original)


class PruningContainer(BasePruningMethod):
    """Several methods for one parameter; each acts on the entries that are left."""

    def __init__(self, *args: BasePruningMethod) -> None:
        self._pruning_methods: tuple[BasePruningMethod, ...] = ()
        for method in args:
            self.add_pruning_method(method)

    def add_pruning_method(self, method: Any) -> None:
        """Appends a method for the same parameter."""
        if not isinstance(method, BasePruningMethod):
            raise TypeError(f"{type(method)} is not a BasePruningMethod")
        name = getattr(self, "_tensor_name", method._tensor_name)
        if name != method._tensor_name:
            raise ValueError(
                f"a container that prunes {name} cannot take a method that prunes "
                f"{method._tensor_name}"
            )
        self._tensor_name = name
        if isinstance(method, PruningContainer):
            self._pruning_methods += method._pruning_methods
        else:
            self._pruning_methods += (method,)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Any:
        return iter(self._pruning_methods)

    def __getitem__(self, index: int) -> BasePruningMethod:
        return self._pruning_methods[index]

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Applies the last method's mask to the entries that are left; that of a global
        method, which knows the shape, to all.
        """
        method = self._pruning_methods[-1]
        mask = default_mask.to(dtype=t.dtype)
        if method.PRUNING_TYPE == "unstructured":
            kept = mask == 1
        elif method.PRUNING_TYPE == "structured":
            dim = getattr(method, "dim", 0) % t.dim()
            others = [d for d in range(t.dim()) if d != dim]
            kept_slices = mask.sum(others) != 0
            index: list[Any] = [slice(None)] * t.dim()
            index[dim] = kept_slices
            part = method.compute_mask(t[tuple(index)], mask[tuple(index)])
            mask = mask.clone()
            mask[tuple(index)] = part.to(mask.dtype)
            return mask
        else:
            return method.compute_mask(t, mask)
        part = method.compute_mask(t[kept], mask[kept])
        mask = mask.clone()
        mask[kept] = part.to(mask.dtype)
        return mask


def _amount_of(amount: Any, size: int) -> int:
    """The number of entries to prune: ``amount``, or that fraction of ``size``."""
    if not isinstance(amount, (int, float)):
        raise TypeError(f"amount is a fraction or a number, not {amount!r}")
    is_count = isinstance(amount, int)
    if amount < 0 or (not is_count and amount > 1.0):
        raise ValueError(f"amount {amount} is neither a fraction of 1 nor an int >= 0")
    if not is_count:
        return round(amount * size)
    if amount > size:
        raise ValueError(f"amount {amount} exceeds the {size} entries there are")
    return int(amount)


class Identity(BasePruningMethod):
    """Prunes nothing; masks of ones."""

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        return default_mask


class RandomUnstructured(BasePruningMethod):
    """Prunes single entries at random."""

    def __init__(self, amount: float) -> None:
        _amount_of(amount, 1 << 62)
        self.amount = amount

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        # Prunes at the largest random numbers, as PyTorch does, for equal seeds.
        return _without(default_mask, -pellucid.rand(t.shape), self.amount, t.numel())


class L1Unstructured(BasePruningMethod):
    """Prunes the single entries of smallest magnitude."""

    def __init__(self, amount: float) -> None:
        _amount_of(amount, 1 << 62)
        self.amount = amount

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        return _without(default_mask, t.abs(), self.amount, t.numel())


def _without(mask: Tensor, scores: Tensor, amount: float, size: int) -> Tensor:
    """``mask`` with zeros at the lowest scores."""
    mask = mask.clone(memory_format=pellucid.contiguous_format)
    count = _amount_of(amount, size)
    if count:
        lowest = scores.reshape(-1).topk(count, largest=False).indices
        mask.view(-1)[lowest] = 0
    return mask


class _Structured(BasePruningMethod):
    """Prunes whole slices along ``dim``."""

    PRUNING_TYPE = "structured"

    def __init__(self, amount: float, dim: int = -1) -> None:
        _amount_of(amount, 1 << 62)
        self.amount, self.dim = amount, dim

    def scores(self, t: Tensor) -> Tensor:
        """The score of each slice; the lowest are pruned."""
        raise NotImplementedError

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        if t.dim() <= 1:
            raise ValueError("structured pruning takes tensors of 2 dims or more")
        if not -t.dim() <= self.dim < t.dim():
            raise IndexError(f"dim {self.dim} is out of range for {t.dim()} dims")
        dim = self.dim % t.dim()
        count = _amount_of(self.amount, t.shape[dim])
        mask = default_mask.clone()
        if count:
            lowest = self.scores(t).topk(count, largest=False).indices
            mask.index_fill_(dim, lowest, 0)
        return mask


class RandomStructured(_Structured):
    """Prunes whole slices along ``dim`` at random."""

    def scores(self, t: Tensor) -> Tensor:
        return pellucid.rand(t.shape[self.dim])


class LnStructured(_Structured):
    """Prunes the slices along ``dim`` of smallest norm of order ``n``."""

    def __init__(self, amount: float, n: Any, dim: int = -1) -> None:
        super().__init__(amount, dim)
        self.n = n

    def scores(self, t: Tensor) -> Tensor:
        others = [d for d in range(t.dim()) if d != self.dim % t.dim()]
        return pellucid.norm(t, p=self.n, dim=others)


class CustomFromMask(BasePruningMethod):
    """Prunes by a given mask."""

    PRUNING_TYPE = "global"

    def __init__(self, mask: Tensor) -> None:
        self.mask = mask

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        return default_mask * self.mask.to(dtype=default_mask.dtype)


def identity(module: Module, name: str) -> Module:
    """Applies a mask of ones, which prunes nothing."""
    Identity.apply(module, name)
    return module


def random_unstructured(module: Module, name: str, amount: float) -> Module:
    """Prunes ``amount`` single entries of a parameter at random."""
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(
    module: Module, name: str, amount: float, importance_scores: Tensor | None = None
) -> Module:
    """Prunes the ``amount`` single entries of smallest magnitude, or lowest score."""
    L1Unstructured.apply(module, name, amount, importance_scores=importance_scores)
    return module


def random_structured(module: Module, name: str, amount: float, dim: int) -> Module:
    """Prunes ``amount`` slices along ``dim`` at random."""
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(
    module: Module,
    name: str,
    amount: float,
    n: Any,
    dim: int,
    importance_scores: Tensor | None = None,
) -> Module:
    """Prunes the ``amount`` slices along ``dim`` of smallest norm of order ``n``."""
    LnStructured.apply(
        module, name, amount, n, dim, importance_scores=importance_scores
    )
    return module


def custom_from_mask(module: Module, name: str, mask: Tensor) -> Module:
    """Prunes the entries where ``mask`` is 0."""
    CustomFromMask.apply(module, name, mask)
    return module


def global_unstructured(
    parameters: Iterable[tuple[Module, str]],
    pruning_method: Any,
    importance_scores: dict[tuple[Module, str], Tensor] | None = None,
    **kwargs: Any,
) -> None:
    """Prunes several parameters by comparing all their entries together."""
    pairs: Sequence[tuple[Module, str]] = list(parameters)
    given = importance_scores or {}
    scores = [
        given.get((module, name), getattr(module, name)).detach()
        for module, name in pairs
    ]
    masks = [
        getattr(module, f"{name}_mask", pellucid.ones_like(getattr(module, name)))
        for module, name in pairs
    ]
    method = pruning_method(**kwargs)
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError("global_unstructured takes an unstructured pruning method")
    method._tensor_name = "temp"
    container = PruningContainer(method)
    flat = pellucid.nn.utils.parameters_to_vector(scores)
    mask = container.compute_mask(flat, pellucid.nn.utils.parameters_to_vector(masks))
    start = 0
    for (module, name), score in zip(pairs, scores, strict=True):
        end = start + score.numel()
        custom_from_mask(module, name, mask[start:end].view(score.shape))
        start = end


def remove(module: Module, name: str) -> Module:
    """Makes a parameter's pruned values permanent; removes mask and hook."""
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name:
            hook.remove(module)
            del module._forward_pre_hooks[key]
            return module
    raise ValueError(f"the parameter {name!r} of {module} is not pruned")


def is_pruned(module: Module) -> bool:
    """Whether a parameter of the module or of a submodule is pruned."""
    return any(
        isinstance(hook, BasePruningMethod)
        for part in module.modules()
        for hook in part._forward_pre_hooks.values()
    )
