"""``BaseSparsifier``: masks of a model's weights, which each step recomputes.

Read next: sparsifiers.py, which says what masks are, and schedulers.py.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterable, Mapping
from copy import deepcopy
from typing import Any

import pellucid
from pellucid import Tensor, nn
from pellucid.ao.pruning._modules import (
    FakeSparsity,
    get_arg_info_from_tensor_fqn,
    module_to_fqn,
)
from pellucid.nn.utils import parametrize

__all__ = ["BaseSparsifier"]

# Entries of a group that are not part of the state dict.
_OF_THE_MODEL = ("module", "module_fqn", "tensor_name")


class BaseSparsifier(ABC):
    """Adds masks to weights of a model. A subclass computes them in ``update_mask``.

    ``defaults`` are options of every weight; those in its configuration take
    precedence.

    Example::

        sparsifier = WeightNormSparsifier(sparsity_level=0.5)
        sparsifier.prepare(model, [{"tensor_fqn": "0.weight"}])
        for batch in batches:
            train(model, batch)
            sparsifier.step()
        sparsifier.squash_mask()
    """

    def __init__(self, defaults: dict[str, Any] | None = None) -> None:
        self.defaults = defaults or {}
        self.state: defaultdict[str, dict[str, Any]] = defaultdict(dict)
        self.groups: list[dict[str, Any]] = []
        self.model: nn.Module | None = None
        self.config: list[dict[str, Any]] | None = None
        self.enable_mask_update = True

    @abstractmethod
    def update_mask(self, module: nn.Module, tensor_name: str, **kwargs: Any) -> None:
        """Writes the mask of this tensor; options are those of its group."""

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__} ("]
        for number, group in enumerate(self.groups):
            lines += ["" for _ in lines[1:2]]
            lines.append(f"\tGroup {number}")
            lines += [f"\t    {name}: {group[name]}" for name in sorted(group)]
        return "\n".join(lines) + ("\n" if self.groups else "") + ")"

    # State

    def state_dict(self) -> dict[str, Any]:
        """The masks by the names of the weights, and the options of each."""
        groups = [
            {name: g[name] for name in g if name not in _OF_THE_MODEL}
            for g in self.groups
        ]
        return {"state": self.state, "groups": groups}

    def load_state_dict(self, state_dict: dict[str, Any], strict: bool = True) -> None:
        """Loads the masks of :meth:`state_dict` into the prepared model.

        Raises RuntimeError for weights without a mask in this model, unless ``strict``
        is false.
        """
        groups = []
        for group in deepcopy(state_dict["groups"]):
            facts = self._facts(group["tensor_fqn"])
            place = _mask_of(facts["module"], facts["tensor_name"])
            if place is None and strict:
                raise RuntimeError(
                    f"the state has a mask of {group['tensor_fqn']!r}, which is not "
                    "prepared here"
                )
            if place is not None:
                groups.append({**group, **facts})
        for group in groups:
            name = group["tensor_fqn"]
            mask = state_dict["state"][name].get("mask")
            place = _mask_of(group["module"], group["tensor_name"])
            assert place is not None
            place.mask = pellucid.ones_like(place.mask) if mask is None else mask
            self.state[name] = {**state_dict["state"][name], "mask": place.mask}
        self.groups = groups

    def _facts(self, tensor_fqn: str) -> dict[str, Any]:
        if self.model is None:
            raise RuntimeError("the sparsifier has no model yet: call prepare()")
        return get_arg_info_from_tensor_fqn(self.model, tensor_fqn)

    # Conversion between dense and masked weights

    def make_config_from_model(
        self,
        model: nn.Module,
        SUPPORTED_MODULES: Iterable[type[nn.Module]] = (nn.Linear,),
    ) -> None:
        """Configures the weights of all linear layers of the model."""
        kinds = tuple(SUPPORTED_MODULES)
        names = [name for name, m in model.named_modules() if isinstance(m, kinds)]
        self.config = [{"tensor_fqn": f"{n}.weight" if n else "weight"} for n in names]

    def prepare(self, model: nn.Module, config: list[dict[str, Any]] | None) -> None:
        """Adds a mask of ones to each weight of ``config``, or of all linear layers if
        it is None. An entry has the weight's name, ``"tensor_fqn"``, and options.
        """
        self.model, self.config = model, config
        if config is None:
            self.make_config_from_model(model)
        for entry in self.config or ():
            if "tensor_fqn" not in entry:
                raise AssertionError(
                    f"an entry of the configuration names its weight as 'tensor_fqn': "
                    f"{entry}"
                )
            facts = self._facts(entry["tensor_fqn"])
            module, name = facts["module"], facts["tensor_name"]
            if not isinstance(getattr(module, name, None), Tensor):
                raise AttributeError(f"the model has no tensor {entry['tensor_fqn']!r}")
            if module_to_fqn(model, module) is None:
                raise AssertionError(f"{entry['tensor_fqn']!r} is not of a submodule")
            self.groups.append({**self.defaults, **entry, **facts})
        self._prepare()

    def _prepare(self, *args: Any, **kwargs: Any) -> None:
        for group in self.groups:
            module, name = group["module"], group["tensor_name"]
            mask = group.get("mask")
            if mask is None:
                mask = pellucid.ones_like(getattr(module, name))
            self.state[group["tensor_fqn"]]["mask"] = mask
            parametrize.register_parametrization(module, name, FakeSparsity(mask))

    def step(self, use_path: bool = True) -> None:
        """Recomputes all masks, unless ``enable_mask_update`` is false."""
        if not self.enable_mask_update:
            return
        with pellucid.no_grad():
            for group in self.groups:
                self.update_mask(**group)

    def squash_mask(
        self,
        params_to_keep: tuple[str, ...] | None = None,
        params_to_keep_per_layer: Mapping[str, tuple[str, ...]] | None = None,
        *args: Any,
        **kwargs: Any,
    ) -> None:
        """Removes the masks: weights become parameters again, multiplied by their
        masks.

        Options to keep, given by name or per module, are stored in a dict
        ``sparse_params`` of each module.
        """
        for group in self.groups:
            module, name = group["module"], group["tensor_name"]
            parametrize.remove_parametrizations(module, name, leave_parametrized=True)
            options = [*(params_to_keep or ())]
            options += (params_to_keep_per_layer or {}).get(group["module_fqn"], ())
            if options:
                module.sparse_params = {option: group[option] for option in options}

    def convert(
        self,
        module: nn.Module,
        mapping: dict[type[nn.Module], Any] | None = None,
        inplace: bool = False,
        parameterization: type[nn.Module] = FakeSparsity,
    ) -> nn.Module:
        """The module, or a copy unless ``inplace``, with each masked layer replaced by
        ``mapping[type(layer)].from_dense(layer)``.
        """
        if mapping is None:
            raise NotImplementedError("convert: give the mapping from dense layers")
        converted = module if inplace else deepcopy(module)
        for name, child in converted.named_children():
            kind = parametrize.type_before_parametrizations(child)
            has_mask = parametrize.is_parametrized(child) and any(
                isinstance(p, parameterization)
                for parametrizations in child.parametrizations.values()
                for p in parametrizations
            )
            if has_mask and kind in mapping:
                setattr(converted, name, mapping[kind].from_dense(child))
            else:
                self.convert(child, mapping, True, parameterization)
        return converted


def _mask_of(module: nn.Module | None, tensor_name: str) -> FakeSparsity | None:
    """The parametrization that has the tensor's mask."""
    if module is None or not parametrize.is_parametrized(module, tensor_name):
        return None
    parametrizations = module.parametrizations[tensor_name]
    return next((p for p in parametrizations if isinstance(p, FakeSparsity)), None)
