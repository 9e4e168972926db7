"""``FloatFunctional``: arithmetic as a layer, so that it can be observed."""

from __future__ import annotations

from typing import Any

import pellucid
from pellucid import Tensor, nn
from pellucid.ao._quantized.registry import called
from pellucid.ao.nn.quantized.scaled import Scaled
from pellucid.ao.nn.quantized.weights import result_scale


class FloatFunctional(nn.Module):
    """``add``, ``mul``, ``cat``, ... of floats, whose results are observed.

    >>> f = torch.ao.nn.quantized.FloatFunctional()
    >>> f.add(torch.ones(1), torch.ones(1))
    tensor([2.])
    """

    def __init__(self) -> None:
        super().__init__()
        self.activation_post_process: Any = nn.Identity()

    def forward(self, x: Any) -> Any:
        raise RuntimeError(
            "FloatFunctional is not intended to use the 'forward'. Please use the "
            "underlying operation"
        )

    def _seen(self, made: Tensor) -> Any:
        return self.activation_post_process(made)

    def add(self, x: Tensor, y: Tensor) -> Any:
        """``x + y``"""
        return self._seen(pellucid.add(x, y))

    def add_scalar(self, x: Tensor, y: float) -> Any:
        """``x + y``, ``y`` a number."""
        return self._seen(pellucid.add(x, y))

    def mul(self, x: Tensor, y: Tensor) -> Any:
        """``x * y``"""
        return self._seen(pellucid.mul(x, y))

    def mul_scalar(self, x: Tensor, y: float) -> Any:
        """``x * y``, ``y`` a number."""
        return self._seen(pellucid.mul(x, y))

    def cat(self, x: Any, dim: int = 0) -> Any:
        """The tensors, concatenated along ``dim``."""
        return self._seen(pellucid.cat(x, dim=dim))

    def add_relu(self, x: Tensor, y: Tensor) -> Any:
        """``relu(x + y)``"""
        return self._seen(pellucid.relu(pellucid.add(x, y)))

    def matmul(self, x: Tensor, y: Tensor) -> Any:
        """``x @ y``"""
        return self._seen(pellucid.matmul(x, y))


class FXFloatFunctional(nn.Module):
    """``FloatFunctional`` without observers: graphs have their own."""

    forward = FloatFunctional.forward

    add = add_scalar = staticmethod(pellucid.add)
    mul = mul_scalar = staticmethod(pellucid.mul)
    matmul = staticmethod(pellucid.matmul)

    def cat(self, x: Any, dim: int = 0) -> Any:
        """The tensors, concatenated along ``dim``."""
        return pellucid.cat(x, dim=dim)

    def add_relu(self, x: Tensor, y: Tensor) -> Any:
        """``relu(x + y)``"""
        return nn.functional.relu(pellucid.add(x, y))


class QFunctional(Scaled, nn.Module):
    """``FloatFunctional`` of quantized tensors: results have one scale."""

    def __init__(self) -> None:
        super().__init__()
        self.scale, self.zero_point = 1.0, 0
        self.activation_post_process = nn.Identity()

    def _get_name(self) -> str:
        return "QFunctional"

    def extra_repr(self) -> str:
        return f"scale={self.scale}, zero_point={self.zero_point}"

    def forward(self, x: Any) -> Any:
        raise RuntimeError(
            "Functional is not intended to use the 'forward'. Please use the "
            "underlying operation"
        )

    def _call(self, name: str, *given: Any) -> Any:
        made = called(name, *given, self.scale, self.zero_point)
        return self.activation_post_process(made)

    def add(self, x: Tensor, y: Tensor) -> Any:
        """``x + y``"""
        return self._call("add", x, y)

    def add_scalar(self, x: Tensor, y: float) -> Any:
        """``x + y``, ``y`` a number: the scale is that of ``x``."""
        return called("add_scalar", x, y)

    def mul(self, x: Tensor, y: Tensor) -> Any:
        """``x * y``"""
        return self._call("mul", x, y)

    def mul_scalar(self, x: Tensor, y: float) -> Any:
        """``x * y``, ``y`` a number: the scale is multiplied."""
        return called("mul_scalar", x, y)

    def cat(self, x: Any, dim: int = 0) -> Any:
        """The tensors, concatenated along ``dim``."""
        made = called("cat", x, dim, self.scale, self.zero_point)
        return self.activation_post_process(made)

    def add_relu(self, x: Tensor, y: Tensor) -> Any:
        """``relu(x + y)``"""
        return self._call("add_relu", x, y)

    def matmul(self, x: Tensor, y: Tensor) -> Any:
        """``x @ y``"""
        return self._call("matmul", x, y)

    @classmethod
    def from_float(
        cls, mod: Any, use_precomputed_fake_quant: bool = False
    ) -> QFunctional:
        """Converts an observed FloatFunctional."""
        made = cls()
        made.scale, made.zero_point = result_scale(mod)
        return made
