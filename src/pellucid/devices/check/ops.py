"""Every op overload on a call drawn from its schema, beside the CPU's results."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import pellucid as torch
from pellucid.devices.check.place import Check, Place
from pellucid.devices.check.samples import Given, Sample, mapped, sample, tensors

# Namespaces of the catalogue: PyTorch's ops, and our own.
SPACES = ("aten::", "pellucid::")
# Of memory that nothing was written to, shapes and dtypes are compared.
UNWRITTEN = ("empty", "new_empty", "resize")
# What is not a function of tensors: it is about files, other devices and gradients. The
# last one takes parts that must fit each other, and does not check that.
NOT_CALLED = (
    *("from_file", "backward", "grad", "retain_grad", "cpu", "to", "is_pinned"),
    "_sparse_coo_tensor_with_dims_and_tensors",
)


def names() -> list[str]:
    """Every overload of the catalogue, as "add.Tensor" or "pellucid::_gru"."""
    full = (entry[0] for entry in torch._C._list_ops())
    found = {n.removeprefix("aten::") for n in full if n.startswith(SPACES)}
    return sorted(n for n in found if n.partition(".")[0] not in NOT_CALLED)


def overload_of(name: str) -> Any:
    """The object that ``torch.ops`` has of the overload."""
    packet, _, form = name.partition(".")
    return torch._C._overloads(packet)[form or "default"]


def op_agrees(name: str, known: Sample, place: Place) -> None:
    """Runs the call on both; the results and all that was written are the same."""
    overload = overload_of(name)
    torch.manual_seed(0)
    expected = _called(known, overload, torch.device("cpu"))
    torch.manual_seed(0)
    found = _called(known, overload, place.device)
    if name.partition(".")[0].rstrip("_").startswith(UNWRITTEN):
        found, expected = (mapped(torch.zeros_like, x) for x in (found, expected))
    place.same(found, expected, "the results")


def _called(known: Sample, overload: Any, device: torch.device) -> Any:
    def there(tensor: Any) -> Any:
        return tensor.to(device, copy=True)

    positional, named = mapped(there, (known.positional, known.named))
    results = overload(*positional, **named)
    writes = overload._schema.is_mutable
    return [results, *tensors((positional, named))] if writes else results


def checks(given: Given) -> Iterator[Check]:
    """One check for each overload of which a call is known."""
    for name in names():
        known = sample(overload_of(name), given)
        if known is not None:
            bound = partial(op_agrees, name, known)
            bound.__doc__ = overload_of(name).name()
            yield bound
