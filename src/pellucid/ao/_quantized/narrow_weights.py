"""Weights of int8 and of four bits, as tensors that ``F.linear`` decodes as it reads.

A tensor of these classes has the shape and dtype of the weight that it was made from,
and its components as attributes. Made by ``quantize_`` of ``ao/quantization``; files
of weights hold them, so ``serialization`` rebuilds them.
Products are computed in float32 or less and have the dtype of the input.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import pellucid
from pellucid import _C, Tensor, nn
from pellucid.autograd import Function

_LEAST = 1e-12  # the least scale, of rows of zeros


class NarrowWeight(Tensor):
    """A matrix of integers with scales; the base of the formats.

    A format has ``PARTS``, the names of its components, ``encode``, ``decoded``,
    ``product`` and ``is_sound``.
    """

    PARTS: ClassVar[tuple[str, ...]] = ("integers", "scales")

    @staticmethod
    def __new__(cls: type[NarrowWeight], shape: Any, dtype: Any, *parts: Tensor) -> Any:
        made: Any = Tensor._make_wrapper_subclass(
            cls, tuple(shape), dtype=dtype, device=parts[0].device
        )
        for name, part in zip(cls.PARTS, parts, strict=True):
            setattr(made, name, part)
        return made

    def __repr__(self, *, tensor_contents: Any = None) -> str:  # type: ignore[override]
        return f"{type(self).__name__}(shape={tuple(self.shape)}, dtype={self.dtype})"

    def __reduce_ex__(self, protocol: Any) -> Any:
        facts = type(self).__name__, tuple(self.shape), self.dtype, self.parts()
        return rebuilt, (*facts, _is_parameter(self))

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) not in memo:
            made = self._like(part.clone() for part in self.parts())
            memo[id(self)] = _as_parameter(made) if _is_parameter(self) else made
        return memo[id(self)]

    def __tensor_flatten__(self) -> tuple[list[str], tuple[Any, ...]]:
        return list(self.PARTS), (self.shape, self.dtype)

    @classmethod
    def __tensor_unflatten__(
        cls, inner_tensors: Any, tensor_meta: Any, outer_size: Any, outer_stride: Any
    ) -> Any:
        return cls(*tensor_meta, *(inner_tensors[name] for name in cls.PARTS))

    @classmethod
    def __torch_function__(
        cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """Takes ``linear`` whole: below, it is a product of a transposed weight."""
        if func is nn.functional.linear or func is pellucid.ops.aten.linear.default:
            return _linear(*args, **(kwargs or {}))
        return _C._disabled_torch_function_impl(func, types, args, kwargs or {})

    @classmethod
    def __torch_dispatch__(
        cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        rule = _rules().get(func._overloadpacket)
        if rule is None:
            raise NotImplementedError(
                f"{cls.__name__} has no {func.__name__}: it is the weight of a linear "
                "layer; use dequantize() for others"
            )
        return rule(*args, **(kwargs or {}))

    def parts(self) -> list[Tensor]:
        """The components."""
        return [getattr(self, name) for name in self.PARTS]

    def dequantize(self) -> Tensor:
        """The matrix as floats."""
        return self.decoded().to(self.dtype)

    def nbytes_stored(self) -> int:
        """The bytes of the components."""
        return sum(part.nbytes for part in self.parts())

    @classmethod
    def encode(cls, weight: Tensor, **options: Any) -> NarrowWeight:
        """The matrix in this format."""
        raise NotImplementedError

    def options(self) -> dict[str, Any]:
        """What ``encode`` took."""
        return {}

    def is_sound(self) -> bool:
        """Whether the components have the shapes and dtypes of the format."""
        raise NotImplementedError

    def decoded(self) -> Tensor:
        """The matrix, float32."""
        raise NotImplementedError

    def product(self, rows: Tensor, bias: Tensor | None) -> Tensor:
        """``rows @ self.T + bias``"""
        raise NotImplementedError

    def _like(self, parts: Any, dtype: Any = None) -> NarrowWeight:
        made: NarrowWeight = type(self)(self.shape, dtype or self.dtype, *parts)
        return made


class Int8Weight(NarrowWeight):
    """int8 with a scale for each row (output), decoded as it is read."""

    integers: Tensor
    scales: Tensor

    @classmethod
    def encode(cls, weight: Tensor, **options: Any) -> NarrowWeight:
        """Symmetric: the greatest magnitude of a row becomes 127."""
        floats = weight.detach().float()
        scales = (floats.abs().amax(1) / 127).clamp_min(_LEAST)
        integers = _rounded(floats, scales)
        made: NarrowWeight = cls(weight.shape, weight.dtype, integers, scales)
        return made

    def is_sound(self) -> bool:
        return (
            _is(self.integers, pellucid.int8, self.shape)
            and _is(self.scales, pellucid.float32, self.shape[:1])
            and len(self.shape) == 2
        )

    def decoded(self) -> Tensor:
        return self.integers.float() * self.scales.unsqueeze(1)

    def product(self, rows: Tensor, bias: Tensor | None) -> Tensor:
        given = rows.float() if rows.dtype is pellucid.float64 else rows
        scales = self.scales.to(given.dtype)
        made: Tensor = pellucid._weight_int8pack_mm(given, self.integers, scales)
        made = made.to(rows.dtype)
        return made if bias is None else made + bias


class Int8DynamicWeight(Int8Weight):
    """int8 with a scale for each row; inputs become int8 with a scale for each row, so
    that the product is one of integers. Gradients ignore the rounding of inputs.
    """

    def product(self, rows: Tensor, bias: Tensor | None) -> Tensor:
        product: Any = _IntegerProduct.apply
        return product(rows, bias, self.rounded_product, self.decoded)  # type: ignore[no-any-return]

    def rounded_product(self, rows: Tensor, bias: Tensor | None) -> Tensor:
        """The product of the nearest integers."""
        floats = rows.float()
        scales = (floats.abs().amax(1) / 127).clamp_min(_LEAST)
        sums = pellucid._int_mm(_rounded(floats, scales), self.integers.t())
        added = sums.new_zeros(sums.shape[1]) if bias is None else bias
        made = _C._pellucid._scale_products(sums, scales, self.scales, added.float())
        return made.to(rows.dtype)


class _IntegerProduct(Function):
    """``rounded_product`` with the derivatives of the product of floats."""

    generate_vmap_rule = True

    @staticmethod
    def forward(rows: Tensor, bias: Any, product: Any, decoded: Any) -> Tensor:
        made: Tensor = product(rows, bias)
        return made

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Tensor) -> None:
        ctx.decoded, ctx.shape = inputs[3], output.shape

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        of_rows, of_bias, *_ = ctx.needs_input_grad
        return (
            grad @ ctx.decoded().to(grad.dtype) if of_rows else None,
            grad.sum(0) if of_bias else None,
            *(None, None),
        )

    @staticmethod
    def jvp(ctx: Any, rows: Any, bias: Any, *_: Any) -> Any:
        if rows is None:
            return bias.expand(ctx.shape)
        made = rows @ ctx.decoded().to(rows.dtype).t()
        return made if bias is None else made + bias


class Int4Weight(NarrowWeight):
    """Four bits with a scale and a zero for each group of elements of a row."""

    integers: Tensor
    scales: Tensor

    @classmethod
    def encode(cls, weight: Tensor, **options: Any) -> NarrowWeight:
        """The range of a group becomes 0 to 15."""
        size = options["group_size"]
        floats = weight.detach().float()
        rows, columns = floats.shape
        groups = floats.view(rows, columns // size, size)
        low, high = pellucid.aminmax(groups, dim=2)
        scale = ((high - low) / 15).clamp_min(_LEAST)
        places = ((groups - low.unsqueeze(2)) / scale.unsqueeze(2)).round().clamp(0, 15)
        packed = pellucid._convert_weight_to_int4pack_for_cpu(
            places.view(rows, columns).int(), 1
        )
        both = pellucid.stack([scale, low + 8 * scale], 2)
        scales = both.transpose(0, 1).contiguous()
        made: NarrowWeight = cls(weight.shape, weight.dtype, packed, scales)
        return made

    @property
    def group_size(self) -> int:
        """Elements with one scale."""
        return self.shape[1] // self.scales.shape[0]

    def options(self) -> dict[str, Any]:
        return {"group_size": self.group_size}

    def is_sound(self) -> bool:
        rows, columns = self.shape
        groups = self.scales.shape[0]
        return (
            _is(self.integers, pellucid.uint8, (rows, columns // 2))
            and _is(self.scales, pellucid.float32, (groups, rows, 2))
            and columns % groups == 0
        )

    def decoded(self) -> Tensor:
        identity = pellucid.eye(self.shape[1], device=self.device)
        return self._multiplied(identity).t()

    def product(self, rows: Tensor, bias: Tensor | None) -> Tensor:
        made = self._multiplied(rows.float()).to(rows.dtype)
        return made if bias is None else made + bias

    def _multiplied(self, rows: Tensor) -> Tensor:
        made: Tensor = pellucid._weight_int4pack_mm_for_cpu(
            rows, self.integers, self.group_size, self.scales
        )
        return made


def _rounded(floats: Tensor, scales: Tensor) -> Tensor:
    """The nearest int8 to ``floats / scales``, with a scale for each row."""
    made: Tensor = _C._pellucid._quantize(
        *(floats, (1 / scales).unsqueeze(1), pellucid.zeros((), dtype=pellucid.int64)),
        *(True, pellucid.int8),
    )
    return made


def rebuilt(name: str, shape: Any, dtype: Any, parts: Any, is_parameter: bool) -> Any:
    """Called by pickles, with checks: they may come from a file."""
    made = _FORMATS[name](shape, dtype, *parts)
    if not made.is_sound():
        shapes = ", ".join(f"{tuple(part.shape)} of {part.dtype}" for part in parts)
        raise ValueError(f"no {name} of the shape {shape} has the components {shapes}")
    return _as_parameter(made) if is_parameter else made


_FORMATS = {kind.__name__: kind for kind in (Int8Weight, Int8DynamicWeight, Int4Weight)}


def _is(part: Tensor, dtype: Any, shape: Any) -> bool:
    return part.dtype is dtype and part.shape == shape


def _is_parameter(weight: NarrowWeight) -> bool:
    return isinstance(weight, nn.Parameter)


def _as_parameter(weight: NarrowWeight) -> Any:
    return nn.Parameter(weight, requires_grad=False)


def _linear(input: Tensor, weight: NarrowWeight, bias: Tensor | None = None) -> Tensor:
    rows = input.reshape(-1, input.shape[-1])
    return weight.product(rows, bias).view(*input.shape[:-1], weight.shape[0])


# ---------------------------------------------------------------- rules of other ops


def _rules() -> dict[Any, Callable[..., Any]]:
    aten = pellucid.ops.aten
    return {
        aten.detach: lambda x: x._like(x.parts()),
        aten.clone: lambda x, **_: x._like(part.clone() for part in x.parts()),
        # Products that are not linear's have the decoded weight.
        aten.t: lambda x: x.dequantize().t(),
        aten.permute: lambda x, dims: x.dequantize().permute(dims),
        aten._to_copy: _to_copy,
        aten.copy_: _copy_,
    }


def _to_copy(
    x: NarrowWeight, *, dtype: Any = None, device: Any = None, **_: Any
) -> NarrowWeight:
    """Of another dtype: the same integers and scales, which decode to that dtype."""
    if dtype is not None and not dtype.is_floating_point:
        raise NotImplementedError(
            f"{type(x).__name__} decodes to floats, not to {dtype}: use dequantize()"
        )
    return x._like((part.to(device, copy=True) for part in x.parts()), dtype)


def _copy_(target: Tensor, source: Tensor, non_blocking: bool = False) -> Tensor:
    """Of a weight of the same format, or of floats, which are encoded."""
    if not isinstance(target, NarrowWeight):
        raise NotImplementedError(
            f"copy_ of {type(source).__name__} into a tensor of floats: quantize_ the "
            "model that loads it, call load_state_dict(assign=True), or dequantize()"
        )
    if not isinstance(source, NarrowWeight):
        source = type(target).encode(source.expand(target.shape), **target.options())
    given, own = source.parts(), target.parts()
    fits = [part.shape for part in given] == [part.shape for part in own]
    if type(source) is not type(target) or not fits:
        raise RuntimeError(
            f"copy_ of {source!r} into {target!r}: the format or its group size differs"
        )
    for part, value in zip(own, given, strict=True):
        part.copy_(value)
    return target
