"""Where checks run, and how they compare: ``Place``, ``expect`` and ``Mismatch``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pellucid as torch
from pellucid.devices.check.samples import tensors

# Of numbers that a device computes in another order than the CPU.
TOLERANCES = {
    "float64": (1e-9, 1e-10),
    "complex128": (1e-9, 1e-10),
    "float32": (1e-5, 1e-6),
    "complex64": (1e-5, 1e-6),
    "float16": (2e-3, 1e-3),
    "complex32": (2e-3, 1e-3),
    "bfloat16": (2e-2, 1e-2),
}


class Mismatch(AssertionError):
    """A check that does not hold."""


@dataclass(frozen=True)
class Place:
    """A type of devices. ``is_exact``: all is computed by the CPU, whose bits are
    expected then."""

    name: str
    count: int
    is_exact: bool

    @property
    def device(self) -> torch.device:
        return torch.device(self.name, 0)

    @property
    def last(self) -> torch.device:
        return torch.device(self.name, self.count - 1)

    def same(self, found: Any, expected: Any, what: str) -> None:
        """Raises Mismatch unless all tensors, on any device, are the same."""
        ours, known = tensors(found), tensors(expected)
        expect(len(ours), len(known), f"{what}: the number of tensors")
        for a, b in zip(ours, known, strict=True):
            facts = f"{what}: shape and dtype"
            expect((tuple(a.shape), a.dtype), (tuple(b.shape), b.dtype), facts)
            expect(a.layout, b.layout, f"{what}: layout")
            self._same_elements(_dense(a), _dense(b), what)

    def _same_elements(self, a: Any, b: Any, what: str) -> None:
        if torch.equal(a, b):
            return
        bounds = TOLERANCES.get(str(b.dtype).removeprefix("torch."))
        exact = self.is_exact or bounds is None
        relative, absolute = (0.0, 0.0) if exact or bounds is None else bounds
        if bounds is None:
            wrong = a != b
        else:
            wrong = ~torch.isclose(a, b, relative, absolute, equal_nan=True)
        if wrong.any():
            at = tuple(int(k) for k in wrong.nonzero()[0])
            raise Mismatch(
                f"{what}: {int(wrong.sum())} of {b.numel()} elements differ; at {at} "
                f"{a[at].item()} was found, the CPU gives {b[at].item()}"
            )


def _dense(x: Any) -> Any:
    """The elements on the CPU, of a sparse tensor those that it does not store, too."""
    x = x.detach().cpu()
    return x if x.layout == torch.strided else x.to_dense()


def expect(found: Any, expected: Any, what: str) -> None:
    """Raises Mismatch unless the two are equal."""
    if found != expected:
        raise Mismatch(f"{what}: {found!r} was found, {expected!r} expected")


def expect_error(call: Callable[[], Any], kind: type[Exception], words: str) -> None:
    """Raises Mismatch unless the call raises ``kind`` with ``words`` in its message."""
    try:
        call()
    except Exception as error:
        if isinstance(error, kind) and words in str(error):
            return
        raise Mismatch(
            f"{kind.__name__} with {words!r} was expected, not "
            f"{type(error).__name__}: {error}"
        ) from None
    raise Mismatch(f"{kind.__name__} with {words!r} was expected; nothing was raised")


Check = Callable[[Place], None]
