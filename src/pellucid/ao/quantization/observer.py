"""Observers: modules that record the range of their inputs and compute scales.

``calculate_qparams`` returns (scales, zero points). ``with_args`` makes constructors
with arguments, which a ``QConfig`` holds. The observer of histograms is in
``histogram.py``.
"""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from functools import partial
from typing import Any
from warnings import warn

import pellucid
from pellucid import Tensor
from pellucid.nn import Module

_EPS = float(pellucid.finfo(pellucid.float32).eps)
_SYMMETRIC = (pellucid.per_tensor_symmetric, pellucid.per_channel_symmetric)
_BOUNDS = {
    pellucid.qint8: (-128, 127),
    pellucid.int8: (-128, 127),
    pellucid.quint8: (0, 255),
    pellucid.uint8: (0, 255),
    pellucid.qint32: (-(2**31), 2**31 - 1),
    pellucid.int32: (-(2**31), 2**31 - 1),
    pellucid.int16: (-(2**15), 2**15 - 1),
    pellucid.uint16: (0, 2**16 - 1),
}


class Partial:
    """A constructor with bound arguments, to which ``with_args`` adds more."""

    def __init__(self, made: Any) -> None:
        self.p = made

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        return self.p(*args, **keywords)

    def __repr__(self) -> str:
        return f"{self.p!r}{{}}"

    def with_args(self, **kwargs: Any) -> Partial:
        """The same constructor with additional arguments."""
        return Partial(partial(self.p, **kwargs))

    def with_callable_args(self, **kwargs: Any) -> Partial:
        """The same constructor with arguments that are computed at each call."""

        def construct(*args: Any, **given: Any) -> Any:
            made = {name: call() for name, call in kwargs.items()}
            return self.p(*args, **{**made, **given})

        return Partial(construct)


def with_args_of(cls: Any, **kwargs: Any) -> Partial:
    """``cls.with_args(**kwargs)``"""
    return Partial(partial(cls, **kwargs))


class ObserverBase(Module, metaclass=ABCMeta):
    """The base class; subclasses define ``forward`` and ``calculate_qparams``."""

    def __init__(self, dtype: Any, is_dynamic: bool = False) -> None:
        super().__init__()
        self.dtype = dtype
        self.is_dynamic = is_dynamic

    @abstractmethod
    def forward(self, x: Tensor) -> Tensor:
        """Records ``x`` and returns it."""

    @abstractmethod
    def calculate_qparams(self, **kwargs: Any) -> Any:
        """(scales, zero points)"""

    @classmethod
    def with_args(cls, **kwargs: Any) -> Partial:
        """A constructor with these arguments."""
        return with_args_of(cls, **kwargs)

    @classmethod
    def with_callable_args(cls, **kwargs: Any) -> Partial:
        """A constructor with arguments that are computed at each call."""
        return Partial(cls).with_callable_args(**kwargs)


class UniformQuantizationObserverBase(ObserverBase):
    """The base of affine observers, for the range ``min_val`` to ``max_val``."""

    _version = 3

    def __init__(
        self,
        dtype: Any = pellucid.quint8,
        qscheme: Any = pellucid.per_tensor_affine,
        reduce_range: bool = False,
        quant_min: int | None = None,
        quant_max: int | None = None,
        factory_kwargs: Any = None,
        eps: float = _EPS,
        is_dynamic: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(dtype, is_dynamic)
        if dtype not in _BOUNDS:
            raise AssertionError(
                f"Default Observer only works for integers such as qint8, not {dtype}"
            )
        self.qscheme, self.reduce_range = qscheme, reduce_range
        self.register_buffer("eps", pellucid.tensor([eps], **(factory_kwargs or {})))
        self.has_customized_qrange = quant_min is not None and quant_max is not None
        least, most = _BOUNDS[dtype]
        if self.has_customized_qrange:
            assert quant_min is not None and quant_max is not None
            if not quant_min < quant_max:
                raise AssertionError(f"quant_min {quant_min} is not below {quant_max}")
            least, most = quant_min, quant_max
        if reduce_range and most - least == 255:
            least, most = least // 2, most // 2
        self.quant_min, self.quant_max = least, most

    def _calculate_qparams(self, low: Tensor, high: Tensor) -> tuple[Tensor, Tensor]:
        if not _is_range(low, high):
            return pellucid.tensor([1.0]), pellucid.tensor([0])
        least, most = self.quant_min, self.quant_max
        below, above = low.clamp(max=0.0), high.clamp(min=0.0)
        if self.qscheme in _SYMMETRIC:
            reach = pellucid.maximum(-below, above)
            scale = pellucid.maximum(reach / (float(most - least) / 2), self.eps)
            zero_point = pellucid.full_like(scale, self._middle(), dtype=pellucid.int64)
        elif self.qscheme is pellucid.per_channel_affine_float_qparams:
            scale = (high - low) / float(most - least)
            scale = pellucid.where(scale > self.eps, scale, 1.0)
            zero_point = -low / scale
        else:
            scale = (above - below) / float(most - least)
            scale = pellucid.maximum(scale, self.eps)
            zero_point = (least - (below / scale).round().int()).clamp(least, most)
        return scale.reshape(-1), zero_point.reshape(-1)

    def _middle(self) -> int:
        if self.dtype in (pellucid.quint8, pellucid.uint8):
            custom = self.has_customized_qrange
            return (self.quant_min + self.quant_max) // 2 if custom else 128
        return 2**15 if self.dtype is pellucid.uint16 else 0

    def reset_min_max_vals(self) -> None:
        """Resets the recorded range."""
        raise NotImplementedError("Cannot reset min/max values in the given observer.")


def _is_range(low: Tensor, high: Tensor) -> bool:
    if low.numel() == 0 or high.numel() == 0:
        warn(
            "must run observer before calling calculate_qparams. "
            "Returning default values.",
            stacklevel=4,
        )
        return False
    if low.numel() == 1 and low.item() == float("inf") and high.item() == -low.item():
        warn(
            "must run observer before calling calculate_qparams. "
            "Returning default values.",
            stacklevel=4,
        )
        return False
    if not bool((low <= high).all()):
        raise AssertionError(f"min {low} should be less than max {high}")
    return True


class MinMaxObserver(UniformQuantizationObserverBase):
    """Records the minimum and maximum so far.

    >>> observer = torch.ao.quantization.MinMaxObserver()
    >>> _ = observer(torch.tensor([0.0, 2.55]))
    >>> observer.calculate_qparams()[0]
    tensor([0.0100])
    """

    min_val: Tensor
    max_val: Tensor

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._check_scheme()
        self.register_buffer("min_val", pellucid.tensor(float("inf")))
        self.register_buffer("max_val", pellucid.tensor(float("-inf")))

    def _check_scheme(self) -> None:
        schemes = (pellucid.per_tensor_affine, pellucid.per_tensor_symmetric)
        if self.qscheme not in schemes:
            raise NotImplementedError(
                f"{type(self).__name__}'s qscheme only support "
                "torch.per_tensor_symmetric and torch.per_tensor_affine."
            )

    def forward(self, x_orig: Tensor) -> Tensor:
        if x_orig.numel():
            low, high = pellucid.aminmax(x_orig.detach().to(self.min_val.dtype))
            self.min_val.copy_(self._joined(self.min_val, low, pellucid.minimum))
            self.max_val.copy_(self._joined(self.max_val, high, pellucid.maximum))
        return x_orig

    def _joined(self, recorded: Tensor, seen: Tensor, extreme: Any) -> Tensor:
        return extreme(recorded, seen)  # type: ignore[no-any-return]

    def calculate_qparams(self, **kwargs: Any) -> tuple[Tensor, Tensor]:
        return self._calculate_qparams(self.min_val, self.max_val)

    def extra_repr(self) -> str:
        return f"min_val={self.min_val}, max_val={self.max_val}"

    def reset_min_max_vals(self) -> None:
        """Resets the recorded range."""
        self.min_val.fill_(float("inf"))
        self.max_val.fill_(float("-inf"))


class MovingAverageMinMaxObserver(MinMaxObserver):
    """Records exponential averages of the minimum and maximum."""

    def __init__(
        self, averaging_constant: float = 0.01, *args: Any, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.averaging_constant = averaging_constant

    def _joined(self, recorded: Tensor, seen: Tensor, extreme: Any) -> Tensor:
        if bool(recorded.isinf().any()):
            return seen
        return recorded + self.averaging_constant * (seen - recorded)


class PerChannelMinMaxObserver(UniformQuantizationObserverBase):
    """Records the minimum and maximum for each index of dim ``ch_axis``."""

    min_val: Tensor
    max_val: Tensor

    def __init__(
        self,
        ch_axis: int = 0,
        dtype: Any = pellucid.quint8,
        qscheme: Any = pellucid.per_channel_affine,
        *args: Any,
        **kwargs: Any,
    ) -> None:
        super().__init__(dtype, qscheme, *args, **kwargs)
        if "per_channel" not in str(qscheme):
            raise NotImplementedError(
                "PerChannelMinMaxObserver's qscheme only support "
                "torch.per_channel_symmetric, torch.per_channel_affine and "
                "torch.per_channel_affine_float_qparams."
            )
        self.ch_axis = ch_axis
        self.register_buffer("min_val", pellucid.tensor([]))
        self.register_buffer("max_val", pellucid.tensor([]))

    def forward(self, x_orig: Tensor) -> Tensor:
        if x_orig.numel():
            x = x_orig.detach().to(self.min_val.dtype)
            rows = x.transpose(0, self.ch_axis).flatten(1)
            low, high = pellucid.aminmax(rows, dim=1)
            if self.min_val.numel():
                low = self._joined(self.min_val, low, pellucid.minimum)
                high = self._joined(self.max_val, high, pellucid.maximum)
            self.min_val.resize_(low.shape).copy_(low)
            self.max_val.resize_(high.shape).copy_(high)
        return x_orig

    def _joined(self, recorded: Tensor, seen: Tensor, extreme: Any) -> Tensor:
        return extreme(recorded, seen)  # type: ignore[no-any-return]

    def calculate_qparams(self, **kwargs: Any) -> tuple[Tensor, Tensor]:
        return self._calculate_qparams(self.min_val, self.max_val)

    def extra_repr(self) -> str:
        return f"min_val={self.min_val}, max_val={self.max_val}"

    def reset_min_max_vals(self) -> None:
        """Resets the recorded range."""
        self.min_val, self.max_val = pellucid.rand(0), pellucid.rand(0)

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *rest: Any) -> None:
        for name in ("min_val", "max_val"):
            given = state_dict.get(prefix + name)
            if given is not None:
                getattr(self, name).resize_(given.shape)
        super()._load_from_state_dict(state_dict, prefix, *rest)


class MovingAveragePerChannelMinMaxObserver(PerChannelMinMaxObserver):
    """Records exponential averages of the minimum and maximum of each channel."""

    def __init__(
        self, averaging_constant: float = 0.01, *args: Any, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.averaging_constant = averaging_constant

    def _joined(self, recorded: Tensor, seen: Tensor, extreme: Any) -> Tensor:
        return recorded + self.averaging_constant * (seen - recorded)


def _without_range(name: str) -> Exception:
    return Exception(f"calculate_qparams should not be called for {name}")


class FixedQParamsObserver(ObserverBase):
    """The scale and zero point that it was made with."""

    scale: Tensor
    zero_point: Tensor

    def __init__(
        self,
        scale: float,
        zero_point: int,
        dtype: Any = pellucid.quint8,
        qscheme: Any = pellucid.per_tensor_affine,
        quant_min: int = 0,
        quant_max: int = 255,
        is_dynamic: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(dtype, is_dynamic)
        self.quant_min, self.quant_max = quant_min, quant_max
        self.qscheme = qscheme
        self.register_buffer("scale", pellucid.tensor([scale], dtype=pellucid.float32))
        points = pellucid.tensor([zero_point], dtype=pellucid.int)
        self.register_buffer("zero_point", points)

    def forward(self, X: Tensor) -> Tensor:
        return X

    def calculate_qparams(self, **kwargs: Any) -> tuple[Tensor, Tensor]:
        return self.scale, self.zero_point


class PlaceholderObserver(ObserverBase):
    """Records nothing: for dtypes without a scale, and for dynamic quantization."""

    def __init__(
        self,
        dtype: Any = pellucid.float32,
        custom_op_name: str = "",
        compute_dtype: Any = None,
        quant_min: int | None = None,
        quant_max: int | None = None,
        qscheme: Any = None,
        eps: Any = None,
        is_dynamic: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(dtype, is_dynamic or compute_dtype is not None)
        self.custom_op = custom_op_name
        self.quant_min, self.quant_max = quant_min, quant_max
        self.qscheme = pellucid.per_tensor_affine if qscheme is None else qscheme
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        return x

    def extra_repr(self) -> str:
        return f"dtype={self.dtype}, is_dynamic={self.is_dynamic}"

    def calculate_qparams(self, **kwargs: Any) -> Any:
        raise Exception(
            "calculate_qparams should not be called for PlaceholderObserver"
        )


class NoopObserver(ObserverBase):
    """Records nothing: for dtypes without a scale."""

    def __init__(self, dtype: Any = pellucid.float16, custom_op_name: str = "") -> None:
        super().__init__(dtype)
        self.custom_op = custom_op_name

    def forward(self, x: Tensor) -> Tensor:
        return x

    def calculate_qparams(self, **kwargs: Any) -> Any:
        raise _without_range("NoopObserver")


class ReuseInputObserver(ObserverBase):
    """A placeholder in a qconfig: the result has the scale of its input
    (``reshape``).
    """

    def __init__(self) -> None:
        super().__init__(pellucid.quint8, is_dynamic=False)

    def forward(self, x: Tensor) -> Tensor:
        return x

    def calculate_qparams(self, **kwargs: Any) -> Any:
        raise _without_range("ReuseInputObserver")


class RecordingObserver(ObserverBase):
    """Records the tensors themselves, for debugging."""

    def __init__(self, dtype: Any = pellucid.quint8) -> None:
        super().__init__(dtype)
        self.tensor_val: list[Tensor] = []

    def forward(self, x: Tensor) -> Tensor:
        self.tensor_val.append(x.clone())
        return x

    def calculate_qparams(self, **kwargs: Any) -> Any:
        raise _without_range("RecordingObserver")

    def get_tensor_value(self) -> list[Tensor]:
        """The recorded tensors."""
        return self.tensor_val


default_observer = MinMaxObserver.with_args(quant_min=0, quant_max=127)
default_placeholder_observer = PlaceholderObserver
default_debug_observer = RecordingObserver
default_reuse_input_observer = ReuseInputObserver
default_weight_observer = MinMaxObserver.with_args(
    dtype=pellucid.qint8, qscheme=pellucid.per_tensor_symmetric
)
weight_observer_range_neg_127_to_127 = MinMaxObserver.with_args(
    dtype=pellucid.qint8,
    qscheme=pellucid.per_tensor_symmetric,
    quant_min=-127,
    quant_max=127,
    eps=2**-12,
)
default_per_channel_weight_observer = PerChannelMinMaxObserver.with_args(
    dtype=pellucid.qint8, qscheme=pellucid.per_channel_symmetric
)
per_channel_weight_observer_range_neg_127_to_127 = PerChannelMinMaxObserver.with_args(
    dtype=pellucid.qint8,
    qscheme=pellucid.per_channel_symmetric,
    quant_min=-127,
    quant_max=127,
    eps=2**-12,
)
default_dynamic_quant_observer = PlaceholderObserver.with_args(
    dtype=pellucid.quint8, quant_min=0, quant_max=255, is_dynamic=True
)
default_float_qparams_observer = PerChannelMinMaxObserver.with_args(
    dtype=pellucid.quint8, qscheme=pellucid.per_channel_affine_float_qparams, ch_axis=0
)
default_fixed_qparams_range_neg1to1_observer = FixedQParamsObserver.with_args(
    scale=2.0 / 256.0, zero_point=128, dtype=pellucid.quint8, quant_min=0, quant_max=255
)
default_fixed_qparams_range_0to1_observer = FixedQParamsObserver.with_args(
    scale=1.0 / 256.0, zero_point=0, dtype=pellucid.quint8, quant_min=0, quant_max=255
)
