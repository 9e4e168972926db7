"""State dicts: making them, loading them, and reporting mismatches.

A state dict maps dotted names to detached tensors that share the module's storage; its
``_metadata`` holds the ``_version`` of each module's class, which
``_load_from_state_dict`` overrides read to convert old state.
"""

from __future__ import annotations

import itertools
import warnings
from collections import OrderedDict, namedtuple
from collections.abc import Mapping
from typing import Any

import pellucid
from pellucid import Tensor
from pellucid._C import ModuleBase
from pellucid.nn.parameter import Parameter

_EXTRA_STATE_KEY_SUFFIX = "_extra_state"


class _IncompatibleKeys(
    namedtuple("IncompatibleKeys", ["missing_keys", "unexpected_keys"])
):
    __slots__ = ()

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return super().__repr__()

    __str__ = __repr__


class StateMixin(ModuleBase):
    """The part of ``Module`` that saves and loads its state."""

    _version: int

    def get_extra_state(self) -> Any:
        """State other than tensors; saved if a subclass overrides this method."""
        raise RuntimeError(
            f"{type(self).__name__} defines set_extra_state but not get_extra_state"
        )

    def set_extra_state(self, state: Any) -> None:
        """Restores the result of ``get_extra_state``."""
        raise RuntimeError(
            f"the state dict holds extra state for {type(self).__name__}, which "
            "does not define set_extra_state"
        )

    def state_dict(
        self,
        *args: Any,
        destination: Any = None,
        prefix: str = "",
        keep_vars: bool = False,
    ) -> Any:
        """The parameters and persistent buffers by dotted name, sharing storage.

        ``keep_vars`` leaves them attached to the autograd graph.
        """
        if args:
            destination = args[0]
            prefix = args[1] if len(args) > 1 else prefix
            keep_vars = args[2] if len(args) > 2 else keep_vars
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        metadata = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = metadata
        for hook in self._state_dict_pre_hooks.values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(
                    destination=destination,
                    prefix=f"{prefix}{name}.",
                    keep_vars=keep_vars,
                )
        for hook in self._state_dict_hooks.values():
            result = hook(self, destination, prefix, metadata)
            if result is None:
                continue
            if getattr(hook, "_from_public_api", False):
                raise RuntimeError("a state_dict post-hook must return None")
            destination = result
        return destination

    def _save_to_state_dict(
        self, destination: Any, prefix: str, keep_vars: bool
    ) -> None:
        """Adds this module's own state, without that of submodules."""
        for name, tensor in self._own_tensors().items():
            if tensor is not None:
                destination[prefix + name] = tensor if keep_vars else tensor.detach()
        if type(self).get_extra_state is not StateMixin.get_extra_state:
            destination[prefix + _EXTRA_STATE_KEY_SUFFIX] = self.get_extra_state()

    def _own_tensors(self) -> dict[str, Tensor | None]:
        """The parameters, then the persistent buffers."""
        skip = self._non_persistent_buffers_set
        buffers = {k: v for k, v in self._buffers.items() if k not in skip}
        return {**self._parameters, **buffers}

    def _load_from_state_dict(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        """Loads this module's own state; appends mismatches to the lists."""
        for hook in self._load_state_dict_pre_hooks.values():
            hook(
                state_dict,
                prefix,
                local_metadata,
                strict,
                missing_keys,
                unexpected_keys,
                error_msgs,
            )
        assign = local_metadata.get("assign_to_params_buffers", False)
        own = {k: v for k, v in self._own_tensors().items() if v is not None}
        for name, tensor in own.items():
            key = prefix + name
            if key in state_dict:
                self._load_tensor(
                    name, tensor, key, state_dict[key], assign, error_msgs
                )
            elif strict:
                missing_keys.append(key)
        extra_key = prefix + _EXTRA_STATE_KEY_SUFFIX
        if type(self).set_extra_state is not StateMixin.set_extra_state:
            if extra_key in state_dict:
                self.set_extra_state(state_dict[extra_key])
            elif strict:
                missing_keys.append(extra_key)
        elif strict and extra_key in state_dict:
            unexpected_keys.append(extra_key)
        if strict:
            unexpected_keys += self._unexpected_below(state_dict, prefix, own)

    def _unexpected_below(
        self, state_dict: Any, prefix: str, own: Mapping[str, Any]
    ) -> list[str]:
        unexpected = []
        for key in state_dict:
            if not key.startswith(prefix) or key == prefix + _EXTRA_STATE_KEY_SUFFIX:
                continue
            name, dot, _ = key[len(prefix) :].partition(".")
            if (name in self._modules) if dot else (name in own):
                continue
            if dot or name not in self._modules:
                unexpected.append(key)
        return unexpected

    def _load_tensor(
        self,
        name: str,
        tensor: Tensor,
        key: str,
        value: Any,
        assign: bool,
        error_msgs: list[str],
    ) -> None:
        if not isinstance(value, Tensor):
            error_msgs.append(
                f"{key!r}: expected a tensor in the state dict, not "
                f"{type(value).__name__}"
            )
            return
        if value.ndim == 1 and value.shape[0] == 1 and tensor.ndim == 0:
            value = value[0]  # files of PyTorch before 0.4 store scalars this way
        if value.shape != tensor.shape:
            error_msgs.append(
                f"size mismatch for {key}: copying a param with shape {value.shape} "
                f"from checkpoint, the shape in current model is {tensor.shape}"
            )
            return
        try:
            with pellucid.no_grad():
                if assign:
                    self._assign_tensor(name, tensor, value)
                elif value.device.type != "meta" and tensor.device.type == "meta":
                    warnings.warn(
                        f"for {key}: the model's tensor is on the meta device, where "
                        "copying is a no-op; call load_state_dict(assign=True)",
                        stacklevel=2,
                    )
                else:
                    tensor.copy_(value)
        except Exception as error:
            error_msgs.append(f"{key!r}: copying it failed: {error}")

    def _assign_tensor(self, name: str, tensor: Tensor, value: Tensor) -> None:
        if isinstance(tensor, Parameter):
            if not isinstance(value, Parameter):
                value = Parameter(value, requires_grad=tensor.requires_grad)
            else:
                value.requires_grad_(tensor.requires_grad)
        setattr(self, name, value)

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> _IncompatibleKeys:
        """Loads a state dict; returns the missing and the unexpected keys.

        ``strict`` raises RuntimeError for either. ``assign`` takes the given tensors
        themselves (their dtype and device) instead of copying into the existing ones.
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(
                "load_state_dict takes a dict of tensors, not "
                f"{type(state_dict).__name__}"
            )
        metadata = getattr(state_dict, "_metadata", None)
        copied: Any = OrderedDict(state_dict)
        if metadata is not None:
            copied._metadata = metadata
        loading = _Loading(copied, metadata, strict, assign)
        loading.load(self, "")
        errors = loading.errors
        if strict and loading.unexpected:
            errors.insert(
                0, _key_list("Unexpected key(s) in state_dict", loading.unexpected)
            )
        if strict and loading.missing:
            errors.insert(0, _key_list("Missing key(s) in state_dict", loading.missing))
        if errors:
            shown = errors[:7]
            if len(errors) > len(shown):
                shown.append(f"... and {len(errors) - len(shown)} more")
            raise RuntimeError(
                f"Error(s) in loading state_dict for {type(self).__name__}:"
                + "".join(f"\n  {error}" for error in shown)
            )
        return _IncompatibleKeys(loading.missing, loading.unexpected)


class _Loading:
    """One traversal by ``load_state_dict``, and the mismatches it found."""

    def __init__(
        self, state_dict: Any, metadata: Any, strict: bool, assign: bool
    ) -> None:
        self.state_dict = state_dict
        self.metadata = metadata
        self.strict = strict
        self.assign = assign
        self.missing: list[str] = []
        self.unexpected: list[str] = []
        self.errors: list[str] = []

    def load(self, module: Any, prefix: str, state_dict: Any = None) -> None:
        state_dict = self.state_dict if state_dict is None else state_dict
        local = {} if self.metadata is None else self.metadata.get(prefix[:-1], {})
        if self.assign:
            local = {**local, "assign_to_params_buffers": True}
        module._load_from_state_dict(
            state_dict, prefix, local, True, self.missing, self.unexpected, self.errors
        )
        for name, child in module._modules.items():
            if child is not None:
                below = f"{prefix}{name}."
                part = {k: v for k, v in state_dict.items() if k.startswith(below)}
                self.load(child, below, part)
        found = _IncompatibleKeys(self.missing, self.unexpected)
        for hook in module._load_state_dict_post_hooks.values():
            if hook(module, found) is not None:
                raise RuntimeError(
                    "a load_state_dict post-hook must return None; it may change the "
                    "lists in incompatible_keys"
                )


def _key_list(title: str, keys: list[str]) -> str:
    shown = ", ".join(f'"{key}"' for key in itertools.islice(keys, 8))
    more = f", ... and {len(keys) - 8} more" if len(keys) > 8 else ""
    return f"{title}: {shown}{more}"
