"""The messages of summaries: numbers, histograms, images, sounds, texts, curves.

Each function gives a ``Summary`` of tensorboard's protocol buffers. Values are NumPy
arrays here; ``writer.py`` converts tensors.
"""

from __future__ import annotations

import io
import wave
from typing import Any

import numpy
from tensorboard.compat.proto.summary_pb2 import (
    HistogramProto,
    Summary,
    SummaryMetadata,
)
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto

import pellucid

_RED = (255, 0, 0)


def array(values: Any) -> Any:
    """Numbers, arrays and tensors as an array of at least one dim."""
    if isinstance(values, pellucid.Tensor):
        values = values.detach().cpu()
        if values.dtype == pellucid.bfloat16:
            values = values.float()
        values = values.numpy()
    if isinstance(values, str) or values is None:
        raise NotImplementedError(
            f"expected a number, an array or a tensor, not {type(values).__name__}"
        )
    return numpy.atleast_1d(numpy.asarray(values))


def _shape(*sizes: int) -> Any:
    return TensorShapeProto(dim=[TensorShapeProto.Dim(size=n) for n in sizes])


def _plugin(name: str, content: bytes = b"") -> Any:
    data = SummaryMetadata.PluginData(plugin_name=name, content=content)
    return SummaryMetadata(plugin_data=data)


def _of(**value: Any) -> Any:
    return Summary(value=[Summary.Value(**value)])


def scalar(
    name: str, value: Any, new_style: bool = False, double_precision: bool = False
) -> Any:
    """One number; as a tensor of the scalars' plugin if ``new_style``."""
    found = array(value).squeeze()
    if found.ndim:
        raise ValueError(f"{name}: a scalar has one element, not shape {found.shape}")
    number = float(found)
    if not new_style:
        return _of(tag=name, simple_value=number)
    if double_precision:
        tensor = TensorProto(double_val=[number], dtype="DT_DOUBLE")
    else:
        tensor = TensorProto(float_val=[number], dtype="DT_FLOAT")
    return _of(tag=name, tensor=tensor, metadata=_plugin("scalars"))


def tensor_proto(name: str, values: Any) -> Any:
    """A whole tensor, for the plugin of scalars as PyTorch writes it."""
    found = array(values) if values.ndim else array(values).reshape(())
    names = {"float32": "DT_FLOAT", "float64": "DT_DOUBLE", "float16": "DT_HALF"}
    names |= {f"int{n}": f"DT_INT{n}" for n in (8, 16, 32, 64)}
    names |= {"uint8": "DT_UINT8", "bool": "DT_BOOL", "complex64": "DT_COMPLEX64"}
    if found.dtype.name not in names:
        raise ValueError(f"{name}: tensors of {found.dtype} cannot be written")
    proto = TensorProto(
        dtype=names[found.dtype.name],
        tensor_shape=_shape(*found.shape),
        tensor_content=numpy.ascontiguousarray(found).tobytes(),
    )
    return _of(tag=name, tensor=proto, metadata=_plugin("tensor"))


# ------------------------------------------------------------ histograms


def exponential_bins() -> list[float]:
    """Edges that grow by a tenth each, of both signs, around 0."""
    edges, edge = [], 1e-12
    while edge < 1e20:
        edges.append(edge)
        edge *= 1.1
    return [-e for e in reversed(edges)] + [0.0] + edges


def histogram(name: str, values: Any, bins: Any, max_bins: int | None = None) -> Any:
    """How many values are between two edges; runs of empty bins are left out."""
    found = array(values).reshape(-1)
    if not found.size:
        raise ValueError(f"{name}: a histogram of no values")
    if found.dtype == bool:
        found = found.astype(numpy.int64)
    found = found.astype(numpy.float64)
    counts, edges = numpy.histogram(found, bins=bins)
    if max_bins is not None and len(counts) > max_bins:
        every = -(-len(counts) // max_bins)
        padded = numpy.pad(counts, (0, -len(counts) % every))
        counts = padded.reshape(-1, every).sum(1)
        edges = numpy.append(edges[:-1:every], edges[-1])
    filled = numpy.flatnonzero(counts)
    if not filled.size:
        raise ValueError(f"{name}: no value is within the bins")
    first, last = filled[0], filled[-1] + 1
    # An empty bin before the first one says where the first one begins.
    limits = edges[first : last + 1]
    counts = numpy.concatenate(([0], counts[first:last]))
    return histogram_raw(
        name,
        *(found.min(), found.max(), found.size, found.sum(), found.dot(found)),
        limits.tolist(),
        counts.tolist(),
    )


def histogram_raw(
    name: str,
    min: float,
    max: float,
    num: float,
    sum: float,
    sum_squares: float,
    bucket_limits: Any,
    bucket_counts: Any,
) -> Any:
    """A histogram whose numbers are given."""
    made = HistogramProto(
        min=min,
        max=max,
        num=num,
        sum=sum,
        sum_squares=sum_squares,
        bucket_limit=bucket_limits,
        bucket=bucket_counts,
    )
    return _of(tag=name, histo=made)


# ------------------------------------------------------------ images and sounds


def _grid(images: Any) -> Any:
    """Images (N, C, H, W) beside each other, 8 at most in a row: (C, rows, columns)."""
    count, channels, height, width = images.shape
    columns = min(count, 8)
    rows = -(-count // columns)
    whole = numpy.zeros((channels, rows * height, columns * width), images.dtype)
    for k in range(count):
        y, x = k // columns * height, k % columns * width
        whole[:, y : y + height, x : x + width] = images[k]
    return whole


def arranged(values: Any, dataformats: str) -> Any:
    """Images of dims named by letters as rows of pixels of 1, 3 or 4 numbers."""
    letters = dataformats.upper()
    if len(set(letters)) != len(letters) or set(letters) - set("NCHW"):
        raise ValueError(f"dataformats are letters of NCHW, each once: {dataformats}")
    if values.ndim != len(letters):
        raise ValueError(
            f"{dataformats} names {len(letters)} dims, and the image has shape "
            f"{tuple(values.shape)}"
        )
    if "N" in letters:
        values = _grid(values.transpose([letters.index(c) for c in "NCHW"]))
        letters = "CHW"
    if "C" not in letters:
        values, letters = values[..., None], letters + "C"
    values = values.transpose([letters.index(c) for c in "HWC"])
    return numpy.repeat(values, 3, 2) if values.shape[2] == 1 else values


def _to_bytes(values: Any) -> Any:
    """Pixels from 0 to 255: floating ones are from 0 to 1."""
    if values.dtype == numpy.uint8:
        return values
    return (values.astype(numpy.float32) * 255).clip(0, 255).astype(numpy.uint8)


def image(name: str, values: Any, rescale: float = 1, dataformats: str = "NCHW") -> Any:
    """An image, or several in a grid, as PNG."""
    pixels = _to_bytes(arranged(array(values), dataformats))
    return _of(tag=name, image=_encoded(pixels, rescale))


def image_boxes(
    name: str,
    values: Any,
    boxes: Any,
    rescale: float = 1,
    dataformats: str = "CHW",
    labels: Any = None,
) -> Any:
    """An image with rectangles (x0, y0, x1, y1) drawn on it."""
    pixels = _to_bytes(arranged(array(values), dataformats))
    drawn = _encoded(pixels, rescale, array(boxes), labels)
    return _of(tag=name, image=drawn)


def _encoded(pixels: Any, rescale: float, boxes: Any = (), labels: Any = None) -> Any:
    from PIL import Image, ImageDraw

    height, width, channels = pixels.shape
    made = Image.fromarray(pixels)
    if len(boxes):
        draw = ImageDraw.Draw(made)
        for k, box in enumerate(boxes):
            draw.rectangle([float(x) for x in box], outline=_RED, width=2)
            if labels is not None:
                draw.text((float(box[0]), float(box[3])), str(labels[k]), _RED)
    if rescale != 1:
        made = made.resize((int(width * rescale), int(height * rescale)))
    file = io.BytesIO()
    made.save(file, format="PNG")
    return Summary.Image(
        height=made.height,
        width=made.width,
        colorspace=channels,
        encoded_image_string=file.getvalue(),
    )


def video(name: str, values: Any, fps: float = 4) -> Any:
    """Videos (N, T, C, H, W) beside each other, as an animated GIF."""
    from PIL import Image

    pixels = _to_bytes(array(values))
    if pixels.ndim != 5:
        raise ValueError(f"a video has dims N, T, C, H, W, not {pixels.shape}")
    frames = [
        Image.fromarray(arranged(pixels[:, t], "NCHW")) for t in range(pixels.shape[1])
    ]
    file = io.BytesIO()
    frames[0].save(
        file,
        format="GIF",
        save_all=True,
        append_images=frames[1:],
        duration=1000 / fps,
        loop=0,
    )
    made = Summary.Image(
        height=frames[0].height,
        width=frames[0].width,
        colorspace=3,
        encoded_image_string=file.getvalue(),
    )
    return _of(tag=name, image=made)


def audio(name: str, values: Any, sample_rate: int = 44100) -> Any:
    """One channel of samples from -1 to 1, as WAV."""
    samples = array(values).squeeze()
    if samples.ndim != 1:
        raise ValueError(f"{name}: a sound has one channel, not shape {samples.shape}")
    samples = (samples.clip(-1, 1) * 32767).astype("<i2")
    file = io.BytesIO()
    with wave.open(file, "wb") as writer:
        writer.setnchannels(1)
        writer.setsampwidth(2)
        writer.setframerate(sample_rate)
        writer.writeframes(samples.tobytes())
    made = Summary.Audio(
        sample_rate=sample_rate,
        num_channels=1,
        length_frames=len(samples),
        encoded_audio_string=file.getvalue(),
        content_type="audio/wav",
    )
    return _of(tag=name, audio=made)


# ------------------------------------------------------------ texts and plugins


def text(name: str, value: str) -> Any:
    """A text in Markdown."""
    tensor = TensorProto(
        dtype="DT_STRING", string_val=[value.encode()], tensor_shape=_shape(1)
    )
    return _of(tag=f"{name}/text_summary", tensor=tensor, metadata=_plugin("text"))


def pr_curve(
    name: str,
    labels: Any,
    predictions: Any,
    num_thresholds: int = 127,
    weights: Any = None,
) -> Any:
    """Precision and recall of predictions from 0 to 1, by threshold."""
    num_thresholds = min(num_thresholds, 127)
    labels, predictions = array(labels).reshape(-1), array(predictions).reshape(-1)
    given = numpy.ones(labels.shape) if weights is None else array(weights).reshape(-1)
    bucket = numpy.floor(predictions * (num_thresholds - 1)).astype(numpy.int64)
    is_true = labels.astype(numpy.float64)

    def at_least(weight: Any) -> Any:
        counts = numpy.bincount(bucket, weight * given, minlength=num_thresholds)
        return counts[::-1].cumsum()[::-1]

    true, false = at_least(is_true), at_least(1 - is_true)
    rest_false, rest_true = false[0] - false, true[0] - true
    precision = true / numpy.maximum(1e-7, true + false)
    recall = true / numpy.maximum(1e-7, true + rest_true)
    return pr_curve_raw(name, true, false, rest_false, rest_true, precision, recall)


def pr_curve_raw(name: str, *rows: Any, num_thresholds: int = 127) -> Any:
    """A curve whose six rows are given: true and false positives, true and false
    negatives, precision, recall.
    """
    from tensorboard.plugins.pr_curve.plugin_data_pb2 import PrCurvePluginData

    data = numpy.stack([array(row).astype(numpy.float32) for row in rows])
    thresholds = min(num_thresholds, data.shape[1])
    content = PrCurvePluginData(version=0, num_thresholds=thresholds)
    tensor = TensorProto(
        dtype="DT_FLOAT",
        float_val=data.reshape(-1).tolist(),
        tensor_shape=_shape(*data.shape),
    )
    plugin = _plugin("pr_curves", content.SerializeToString())
    return _of(tag=name, tensor=tensor, metadata=plugin)


def custom_scalars(layout: dict[str, dict[str, list[Any]]]) -> Any:
    """Which scalars are drawn together: {category: {title: [kind, tags]}}."""
    from tensorboard.plugins.custom_scalar import layout_pb2

    def chart(title: str, kind: str, tags: list[str]) -> Any:
        if kind == "Margin":
            series = layout_pb2.MarginChartContent.Series(
                value=tags[0], lower=tags[1], upper=tags[2]
            )
            content = layout_pb2.MarginChartContent(series=[series])
            return layout_pb2.Chart(title=title, margin=content)
        return layout_pb2.Chart(
            title=title, multiline=layout_pb2.MultilineChartContent(tag=tags)
        )

    categories = [
        layout_pb2.Category(
            title=category,
            chart=[chart(title, *given) for title, given in held.items()],
        )
        for category, held in layout.items()
    ]
    whole = layout_pb2.Layout(category=categories).SerializeToString()
    tensor = TensorProto(
        dtype="DT_STRING", string_val=[whole], tensor_shape=TensorShapeProto()
    )
    tag = "custom_scalars__config__"
    return _of(tag=tag, tensor=tensor, metadata=_plugin("custom_scalars"))


def mesh(name: str, vertices: Any, colors: Any, faces: Any, config: Any) -> Any:
    """Points (B, N, 3) with colors and triangles."""
    import json

    from tensorboard.plugins.mesh import metadata
    from tensorboard.plugins.mesh.plugin_data_pb2 import MeshPluginData

    kinds = MeshPluginData.ContentType
    given = [(vertices, kinds.VERTEX), (faces, kinds.FACE), (colors, kinds.COLOR)]
    given = [(array(values), kind) for values, kind in given if values is not None]
    components = metadata.get_components_bitmask([kind for _, kind in given])
    summaries = []
    for values, kind in given:
        is_whole = numpy.issubdtype(values.dtype, numpy.integer)
        made = metadata.create_summary_metadata(
            *(name, name, kind, components, values.shape),
            json_config=json.dumps(config or {}, sort_keys=True),
        )
        filled = {"int_val" if is_whole else "float_val": values.reshape(-1).tolist()}
        tensor = TensorProto(
            dtype="DT_INT32" if is_whole else "DT_FLOAT",
            tensor_shape=_shape(*values.shape),
            **filled,
        )
        tag = metadata.get_instance_name(name, kind)
        summaries.append(Summary.Value(tag=tag, tensor=tensor, metadata=made))
    return Summary(value=summaries)


def hparams(values: Any, metrics: Any, domain_discrete: Any = None) -> tuple[Any, ...]:
    """Three messages: the experiment, a session's start with its values, its end."""
    from tensorboard.plugins.hparams import api_pb2, metadata, plugin_data_pb2

    if not isinstance(values, dict) or not isinstance(metrics, dict):
        raise TypeError("add_hparams takes two dicts: of hyperparameters, of metrics")
    start = plugin_data_pb2.SessionStartInfo()
    infos = []
    for key, value in values.items():
        if value is None:
            continue
        if isinstance(value, pellucid.Tensor):
            value = value.item()
        if not isinstance(value, (bool, int, float, str)):
            raise ValueError(
                f"the hyperparameter {key} is a {type(value).__name__}; give a bool, "
                "a number, a string or a tensor of one element"
            )
        kind = "bool" if isinstance(value, bool) else "number"
        kind = "string" if isinstance(value, str) else kind
        setattr(start.hparams[key], f"{kind}_value", value)
        info = api_pb2.HParamInfo(name=key, type=f"DATA_TYPE_{_DATA_TYPES[kind]}")
        for choice in (domain_discrete or {}).get(key, ()):
            setattr(info.domain_discrete.values.add(), f"{kind}_value", choice)
        infos.append(info)
    named = [api_pb2.MetricInfo(name=api_pb2.MetricName(tag=key)) for key in metrics]
    experiment = api_pb2.Experiment(hparam_infos=infos, metric_infos=named)
    end = plugin_data_pb2.SessionEndInfo(status=api_pb2.Status.Value("STATUS_SUCCESS"))
    data = plugin_data_pb2.HParamsPluginData
    version = metadata.PLUGIN_DATA_VERSION
    return tuple(
        _of(tag=tag, metadata=_plugin("hparams", content.SerializeToString()))
        for tag, content in (
            (metadata.EXPERIMENT_TAG, data(experiment=experiment, version=version)),
            (
                metadata.SESSION_START_INFO_TAG,
                data(session_start_info=start, version=version),
            ),
            (
                metadata.SESSION_END_INFO_TAG,
                data(session_end_info=end, version=version),
            ),
        )
    )


_DATA_TYPES = {"bool": "BOOL", "number": "FLOAT64", "string": "STRING"}
