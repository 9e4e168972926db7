"""``FloatFunctional``: arithmetic as a layer, so that it can be observed."""

from __future__ import annotations

from typing import Any

import pellucid
from pellucid import Tensor, nn
from pellucid.ao._quantized.parts import quantized


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
        return pellucid.add(x, y)

    def mul(self, x: Tensor, y: Tensor) -> Any:
        """``x * y``"""
        return self._seen(pellucid.mul(x, y))

    def mul_scalar(self, x: Tensor, y: float) -> Any:
        """``x * y``, ``y`` a number."""
        return pellucid.mul(x, y)

    def cat(self, x: Any, dim: int = 0) -> Any:
        """The tensors, joined along ``dim``."""
        return self._seen(pellucid.cat(x, dim=dim))

    def add_relu(self, x: Tensor, y: Tensor) -> Any:
        """``relu(x + y)``"""
        return self._seen(pellucid.relu(pellucid.add(x, y)))

    def matmul(self, x: Tensor, y: Tensor) -> Any:
        """``x @ y``"""
        return self._seen(pellucid.matmul(x, y))


class QFunctional(nn.Module):
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

    def _made(self, x: Tensor, floats: Tensor) -> Tensor:
        return quantized(floats, self.scale, self.zero_point, x.dtype)

    def add(self, x: Tensor, y: Tensor) -> Tensor:
        """``x + y``"""
        return self._made(x, x.dequantize() + y.dequantize())

    def mul(self, x: Tensor, y: Tensor) -> Tensor:
        """``x * y``"""
        return self._made(x, x.dequantize() * y.dequantize())

    def cat(self, x: Any, dim: int = 0) -> Tensor:
        """The tensors, joined along ``dim``."""
        return self._made(x[0], pellucid.cat([each.dequantize() for each in x], dim))

    def add_relu(self, x: Tensor, y: Tensor) -> Tensor:
        """``relu(x + y)``"""
        return self._made(x, (x.dequantize() + y.dequantize()).relu())

    def matmul(self, x: Tensor, y: Tensor) -> Tensor:
        """``x @ y``"""
        return self._made(x, x.dequantize() @ y.dequantize())

    @classmethod
    def from_float(cls, mod: Any, **_: Any) -> QFunctional:
        """That of an observed FloatFunctional."""
        made = cls()
        scale, zero_point = mod.activation_post_process.calculate_qparams()
        made.scale, made.zero_point = float(scale), int(zero_point)
        return made
