"""Messages of numbers: scalars, tensors, histograms, precision-recall curves."""

from __future__ import annotations

from typing import Any

import numpy as np
from tensorboard.compat.proto.summary_pb2 import (
    HistogramProto,
    Summary,
    SummaryMetadata,
)
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto
from tensorboard.plugins.pr_curve.plugin_data_pb2 import PrCurvePluginData

import pellucid
from pellucid.utils.tensorboard._arrays import as_array

Array = np.ndarray[Any, Any]

_MOST_BYTES = 1 << 31  # of one message
_MOST_THRESHOLDS = 127
_LEAST_COUNT = 1e-7  # lower bound of the denominators of precision and recall
# Each dtype with its name in messages and the field of its values.
_STORED = {
    "float16": ("DT_HALF", "half_val"),
    "bfloat16": ("DT_BFLOAT16", "half_val"),
    "float32": ("DT_FLOAT", "float_val"),
    "float64": ("DT_DOUBLE", "double_val"),
    "int8": ("DT_INT8", "int_val"),
    "uint8": ("DT_UINT8", "uint32_val"),
    "int16": ("DT_INT16", "int_val"),
    "int32": ("DT_INT32", "int_val"),
    "int64": ("DT_INT64", "int64_val"),
    "complex64": ("DT_COMPLEX64", "scomplex_val"),
    "complex128": ("DT_COMPLEX128", "dcomplex_val"),
    "bool": ("DT_BOOL", "bool_val"),
}


def of_plugin(name: str, content: bytes = b"") -> SummaryMetadata:
    """The metadata that selects the TensorBoard plugin for a value."""
    data = SummaryMetadata.PluginData(plugin_name=name, content=content)
    return SummaryMetadata(plugin_data=data)


def shape_message(sizes: Any) -> TensorShapeProto:
    return TensorShapeProto(dim=[TensorShapeProto.Dim(size=size) for size in sizes])


def scalar(
    name: str,
    tensor: Any,
    collections: Any = None,
    new_style: bool = False,
    double_precision: bool = False,
) -> Summary:
    """One number; in the new style, a tensor message of float32 or float64."""
    array = as_array(tensor)
    if array.size != 1:
        raise AssertionError(
            f"a scalar is one number, {name!r} has the shape {tuple(array.shape)}"
        )
    number = float(array.reshape(()))
    if not new_style:
        return Summary(value=[Summary.Value(tag=name, simple_value=number)])
    if double_precision:
        message = TensorProto(double_val=[number], dtype="DT_DOUBLE")
    else:
        message = TensorProto(float_val=[number], dtype="DT_FLOAT")
    value = Summary.Value(tag=name, tensor=message, metadata=of_plugin("scalars"))
    return Summary(value=[value])


def tensor_proto(tag: str, tensor: pellucid.Tensor) -> Summary:
    """A whole tensor. Raises ValueError for 2 GiB and more, and for dtypes that
    messages have no field for.
    """
    size = tensor.numel() * tensor.itemsize
    if size >= _MOST_BYTES:
        raise ValueError(f"{tag!r} has {size} bytes; a message holds less than 2 GiB")
    stored = _STORED.get(str(tensor.dtype).removeprefix("torch."))
    if stored is None:
        raise ValueError(
            f"{tag!r} has the dtype {tensor.dtype}, which event files cannot hold"
        )
    dtype, field = stored
    array = as_array(tensor).reshape(-1)
    if field == "half_val":  # which readers of PyTorch's files expect as float32's bits
        array = array.astype(np.float32).view(np.int32)
    elif array.dtype.kind == "c":  # real and imaginary parts in turn
        array = array.view(array.real.dtype)
    message = TensorProto(
        dtype=dtype,
        tensor_shape=shape_message(tensor.shape),
        **{field: array.tolist()},
    )
    value = Summary.Value(tag=tag, metadata=of_plugin("tensor"), tensor=message)
    return Summary(value=[value])


def histogram_raw(
    name: str,
    min: float,
    max: float,
    num: int,
    sum: float,
    sum_squares: float,
    bucket_limits: Any,
    bucket_counts: Any,
) -> Summary:
    """A precomputed histogram."""
    counted = HistogramProto(
        min=min,
        max=max,
        num=num,
        sum=sum,
        sum_squares=sum_squares,
        bucket_limit=bucket_limits,
        bucket=bucket_counts,
    )
    return Summary(value=[Summary.Value(tag=name, histo=counted)])


def histogram(
    name: str, values: Any, bins: Any, max_bins: int | None = None
) -> Summary:
    """A histogram of all values, by ``bins`` as in numpy.histogram."""
    counted = make_histogram(as_array(values).astype(float), bins, max_bins)
    return Summary(value=[Summary.Value(tag=name, histo=counted)])


def make_histogram(
    values: Array, bins: Any, max_bins: int | None = None
) -> HistogramProto:
    if values.size == 0:
        raise ValueError("a histogram needs at least one value, given none")
    values = values.reshape(-1)
    limits, counts = buckets(values, bins, max_bins)
    return HistogramProto(
        min=values.min(),
        max=values.max(),
        num=values.size,
        sum=values.sum(),
        sum_squares=values.dot(values),
        bucket_limit=limits,
        bucket=counts,
    )


def buckets(
    values: Array, bins: Any, max_bins: int | None
) -> tuple[list[float], list[float]]:
    """Upper limits and counts from the first bucket with values to the last, after an
    empty bucket whose limit is the lower limit of the first: readers only use upper
    limits. Adjacent buckets are merged to about ``max_bins``.
    """
    counts, limits = np.histogram(values, bins=bins)
    if max_bins is not None and len(counts) > max_bins:
        starts = np.arange(0, len(counts), len(counts) // max_bins)
        counts = np.add.reduceat(counts, starts)
        limits = np.append(limits[starts], limits[-1])
    filled = np.flatnonzero(counts)
    if filled.size == 0:
        raise ValueError("no value falls into a bucket: are they NaN, or outside bins?")
    first, last = filled[0], filled[-1]
    return limits[first : last + 2].tolist(), [0, *counts[first : last + 1].tolist()]


def pr_curve(
    tag: str,
    labels: Array,
    predictions: Array,
    num_thresholds: int = 127,
    weights: Any = None,
) -> Summary:
    """Precision and recall at thresholds from 0 to 1."""
    thresholds = min(num_thresholds, _MOST_THRESHOLDS)
    curve = compute_curve(labels, predictions, thresholds, weights)
    return _curve_message(tag, curve, thresholds)


def pr_curve_raw(
    tag: str,
    tp: Any,
    fp: Any,
    tn: Any,
    fn: Any,
    precision: Any,
    recall: Any,
    num_thresholds: int = 127,
    weights: Any = None,
) -> Summary:
    """A precomputed precision-recall curve."""
    curve = np.stack([as_array(row) for row in (tp, fp, tn, fn, precision, recall)])
    return _curve_message(tag, curve, min(num_thresholds, _MOST_THRESHOLDS))


def compute_curve(
    labels: Array, predictions: Array, num_thresholds: int, weights: Any = None
) -> Array:
    """Rows of true and false positives, true and false negatives, precision and recall;
    a column for each threshold.
    """
    last = num_thresholds - 1
    place = np.floor(predictions.reshape(-1) * last)
    inside = (place >= 0) & (place <= last)
    weight = np.broadcast_to(1.0 if weights is None else weights, predictions.shape)
    truth = labels.astype(np.float64)

    def at_least(amounts: Array) -> Array:
        """Cumulative sums of predictions at or above each threshold."""
        counts = np.bincount(
            place[inside].astype(np.int64), amounts.reshape(-1)[inside], num_thresholds
        )
        return counts[::-1].cumsum()[::-1]

    tp, fp = at_least(truth * weight), at_least((1.0 - truth) * weight)
    tn, fn = fp[0] - fp, tp[0] - tp
    precision = tp / np.maximum(_LEAST_COUNT, tp + fp)
    recall = tp / np.maximum(_LEAST_COUNT, tp + fn)
    return np.stack((tp, fp, tn, fn, precision, recall))


def _curve_message(tag: str, curve: Array, thresholds: int) -> Summary:
    content = PrCurvePluginData(version=0, num_thresholds=thresholds)
    message = TensorProto(
        dtype="DT_FLOAT",
        float_val=curve.reshape(-1).tolist(),
        tensor_shape=shape_message(curve.shape),
    )
    metadata = of_plugin("pr_curves", content.SerializeToString())
    return Summary(value=[Summary.Value(tag=tag, metadata=metadata, tensor=message)])
