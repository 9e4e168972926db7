"""``HistogramObserver``: a histogram, and a search for the best range."""

from __future__ import annotations

from typing import Any
from warnings import warn

import pellucid
from pellucid import Tensor
from pellucid.ao.quantization.observer import UniformQuantizationObserverBase

_FINER = 16  # subdivisions of a bin when the range is widened
_STEP = 1e-5  # the fraction of values that a search step cuts


class HistogramObserver(UniformQuantizationObserverBase):
    """A histogram of all values; chooses the range with the least squared error.

    The search cuts quantiles from the end that removes more bins, as long as the
    quantization error decreases (norm minimization).
    """

    histogram: Tensor
    min_val: Tensor
    max_val: Tensor

    def __init__(
        self,
        bins: int = 2048,
        dtype: Any = pellucid.quint8,
        qscheme: Any = pellucid.per_tensor_affine,
        *args: Any,
        **kwargs: Any,
    ) -> None:
        if "per_tensor" not in str(qscheme):
            raise NotImplementedError(
                "HistogramObserver's qscheme only support torch.per_tensor_symmetric "
                "and torch.per_tensor_affine."
            )
        if kwargs.get("is_dynamic"):
            raise NotImplementedError(
                "HistogramObserver doesn't support dynamic quantization"
            )
        super().__init__(dtype, qscheme, *args, **kwargs)
        self.bins = bins
        self.register_buffer("histogram", pellucid.zeros(bins))
        self.register_buffer("min_val", pellucid.tensor(float("inf")))
        self.register_buffer("max_val", pellucid.tensor(float("-inf")))
        self.dst_nbins = 2 ** (8 * dtype.itemsize)

    def forward(self, x_orig: Tensor) -> Tensor:
        x = x_orig.detach()
        if x.numel() == 0:
            return x_orig
        if bool(x.isinf().any()):
            warn("torch.inf detected in input tensor, ignoring input", stacklevel=2)
            x = x[~x.isinf()]
            if x.numel() == 0:
                return x_orig
        low, high = pellucid.aminmax(x)
        if self.min_val.item() == float("inf"):
            counts = self._counts(x, low, high)
        else:
            low = pellucid.minimum(self.min_val, low)
            high = pellucid.maximum(self.max_val, high)
            counts = self._counts(x, low, high) + self._moved(low, high)
        self.histogram.copy_(counts)
        self.min_val.copy_(low)
        self.max_val.copy_(high)
        return x_orig

    def _counts(self, x: Tensor, low: Tensor, high: Tensor) -> Tensor:
        return pellucid.histc(x, self.bins, min=low.item(), max=high.item())

    def _moved(self, low: Tensor, high: Tensor) -> Tensor:
        """The histogram rebinned to the wider range ``low`` to ``high``."""
        first, last = self.min_val, self.max_val
        if low == first and high == last:
            return self.histogram
        if first == last:
            return self._counts(first, low, high) * self.histogram.sum()
        fine = self.bins * _FINER
        counts = self.histogram.repeat_interleave(_FINER) / _FINER
        ends = pellucid.linspace(first.item(), last.item(), fine + 1)
        middles = ends[:-1] + 0.5 * ((last - first) / fine)
        borders = pellucid.linspace(low.item(), high.item(), self.bins + 1)
        places = pellucid.bucketize(middles, borders, right=True) - 1
        places = places.clamp(0, self.bins - 1)
        moved: Tensor = pellucid.bincount(places, counts, minlength=self.bins)
        return moved

    def calculate_qparams(self, **kwargs: Any) -> tuple[Tensor, Tensor]:
        if self.min_val.item() == float("inf") and self.max_val.item() == -float("inf"):
            warn(
                "must run observer before calling calculate_qparams. "
                "Returning default scale and zero point",
                stacklevel=2,
            )
            return pellucid.tensor([1.0]), pellucid.tensor([0])
        start, end = self._best_bins()
        width = (self.max_val - self.min_val) / self.bins
        low, high = self.min_val + width * start, self.min_val + width * (end + 1)
        return self._calculate_qparams(low, high)

    def _best_bins(self) -> tuple[int, int]:
        """The first and the last bin of the range with the least error."""
        total = self.histogram.sum().item()
        sums = self.histogram.cumsum(0).tolist()
        lower, upper = 0.0, 1.0
        start, end, least_error = 0, self.bins - 1, float("inf")
        while lower < upper:
            next_lower, next_upper = lower + _STEP, upper - _STEP
            left, right = start, end
            while left < end and sums[left] < _rounded(next_lower * total):
                left += 1
            while right > start and sums[right] > _rounded(next_upper * total):
                right -= 1
            next_start, next_end = start, end
            if left - start > end - right:
                next_start, lower = left, next_lower
            else:
                next_end, upper = right, next_upper
            if (next_start, next_end) == (start, end):
                continue
            error = self._error(next_start, next_end)
            if error > least_error:
                break
            start, end, least_error = next_start, next_end, error
        return start, end

    def _error(self, start: int, end: int) -> float:
        """The squared quantization error of these bins, with uniform values in a
        bin.
        """
        width = (self.max_val.item() - self.min_val.item()) / self.bins
        step = width * (end - start + 1) / self.dst_nbins
        if step == 0.0:
            return 0.0
        begins = (pellucid.arange(self.bins) - start) * width
        ends = begins + width
        first, last = self._place(begins, step), self._place(ends, step)
        density = self.histogram / width
        half = pellucid.tensor(step / 2)
        error = density * _cubes(begins - (first + 0.5) * step, half)
        error += (last - first - 1) * (density * _cubes(-half, half))
        error += density * _cubes(-half, ends - (last * step + step / 2))
        return float(error.sum())

    def _place(self, places: Tensor, step: float) -> Tensor:
        found: Tensor = pellucid.div(places, step, rounding_mode="floor")
        return found.clamp(0, self.dst_nbins - 1)

    def extra_repr(self) -> str:
        return f"min_val={self.min_val}, max_val={self.max_val}"


def _cubes(begin: Tensor, end: Tensor) -> Tensor:
    """The integral of the square from ``begin`` to ``end``."""
    return (end * end * end - begin * begin * begin) / 3


def _rounded(number: float) -> float:
    """A number rounded as in a comparison with a float32 tensor."""
    return float(pellucid.tensor(number, dtype=pellucid.float32))


default_histogram_observer = HistogramObserver.with_args(quant_min=0, quant_max=127)
