"""Messages for TensorBoard's plugins: text, layouts, hyperparameters, meshes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from google.protobuf import struct_pb2
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto
from tensorboard.plugins.custom_scalar import layout_pb2
from tensorboard.plugins.hparams import api_pb2, plugin_data_pb2
from tensorboard.plugins.hparams import metadata as hparams_metadata
from tensorboard.plugins.mesh import metadata as mesh_metadata
from tensorboard.plugins.mesh.plugin_data_pb2 import MeshPluginData
from tensorboard.plugins.text.plugin_data_pb2 import TextPluginData

import pellucid
from pellucid.utils.tensorboard._arrays import as_array
from pellucid.utils.tensorboard._numbers import of_plugin, shape_message


def text(tag: str, text: str) -> Summary:
    """A text, which TensorBoard shows as Markdown."""
    message = TensorProto(
        dtype="DT_STRING",
        string_val=[text.encode()],
        tensor_shape=shape_message([1]),
    )
    content = TextPluginData(version=0).SerializeToString()
    value = Summary.Value(
        tag=f"{tag}/text_summary", metadata=of_plugin("text", content), tensor=message
    )
    return Summary(value=[value])


def custom_scalars(layout: Mapping[str, Mapping[str, Any]]) -> Summary:
    """Charts of several scalars: {category: {chart: [kind, tags]}}, where the kind is
    "Multiline", or "Margin" with the tags of a value and its lower and upper bounds.
    """
    categories = [
        layout_pb2.Category(
            title=category, chart=[_chart(title, *of) for title, of in charts.items()]
        )
        for category, charts in layout.items()
    ]
    message = TensorProto(
        dtype="DT_STRING",
        string_val=[layout_pb2.Layout(category=categories).SerializeToString()],
        tensor_shape=TensorShapeProto(),
    )
    value = Summary.Value(
        tag="custom_scalars__config__",
        tensor=message,
        metadata=of_plugin("custom_scalars"),
    )
    return Summary(value=[value])


def _chart(title: str, kind: str, tags: Any) -> layout_pb2.Chart:
    if kind != "Margin":
        lines = layout_pb2.MultilineChartContent(tag=tags)
        return layout_pb2.Chart(title=title, multiline=lines)
    if len(tags) != 3:
        raise AssertionError(
            f"a margin chart needs 3 tags (value, lower, upper), given {len(tags)}"
        )
    value, lower, upper = tags
    series = layout_pb2.MarginChartContent.Series(value=value, lower=lower, upper=upper)
    content = layout_pb2.MarginChartContent(series=[series])
    return layout_pb2.Chart(title=title, margin=content)


def hparams(
    hparam_dict: dict[str, Any] | None = None,
    metric_dict: dict[str, Any] | None = None,
    hparam_domain_discrete: dict[str, list[Any]] | None = None,
) -> tuple[Summary, Summary, Summary]:
    """Hyperparameters and the names of metrics, as three messages: the experiment, the
    start of a run with its values, its end. Values are numbers, strings, tensors of one
    element; None is left out.
    """
    domains = {} if hparam_domain_discrete is None else hparam_domain_discrete
    _check_hparams(hparam_dict, metric_dict, domains)
    assert hparam_dict is not None and metric_dict is not None
    start, infos = plugin_data_pb2.SessionStartInfo(), []
    for name, given in hparam_dict.items():
        if given is None:
            continue
        field, kind, value = _hparam(name, given)
        setattr(start.hparams[name], field, value)
        info = api_pb2.HParamInfo(name=name, type=api_pb2.DataType.Value(kind))
        if name in domains:
            choices = [struct_pb2.Value(**{field: each}) for each in domains[name]]
            info.domain_discrete.CopyFrom(struct_pb2.ListValue(values=choices))
        infos.append(info)
    metrics = [
        api_pb2.MetricInfo(name=api_pb2.MetricName(tag=name)) for name in metric_dict
    ]
    experiment = api_pb2.Experiment(hparam_infos=infos, metric_infos=metrics)
    end = plugin_data_pb2.SessionEndInfo(status=api_pb2.Status.Value("STATUS_SUCCESS"))
    tags = hparams_metadata
    return (
        _hparams_message(tags.EXPERIMENT_TAG, experiment=experiment),
        _hparams_message(tags.SESSION_START_INFO_TAG, session_start_info=start),
        _hparams_message(tags.SESSION_END_INFO_TAG, session_end_info=end),
    )


def _check_hparams(hparam_dict: Any, metric_dict: Any, domains: Any) -> None:
    given = {"hparam_dict": hparam_dict, "metric_dict": metric_dict}
    for name, value in {**given, "hparam_domain_discrete": domains}.items():
        if not isinstance(value, dict):
            raise TypeError(f"{name} should be a dict, given {type(value).__name__}")
    for name, choices in domains.items():
        if (
            name not in hparam_dict
            or not isinstance(choices, list)
            or not all(isinstance(each, type(hparam_dict[name])) for each in choices)
        ):
            raise TypeError(
                f"hparam_domain_discrete[{name!r}] should be a list of values of the "
                f"same type as hparam_dict[{name!r}], given {choices!r}"
            )


def _hparam(name: str, value: Any) -> tuple[str, str, Any]:
    """The field of a message that holds the value, the name of its type, the value."""
    if isinstance(value, str):
        return "string_value", "DATA_TYPE_STRING", value
    if isinstance(value, pellucid.Tensor):
        value = as_array(value).reshape(-1)[0].item()
    if isinstance(value, (int, float)):
        return "number_value", "DATA_TYPE_FLOAT64", value
    raise ValueError(
        f"the hyperparameter {name!r} should be an int, float, str, bool or tensor, "
        f"given {type(value).__name__}"
    )


def _hparams_message(tag: str, **content: Any) -> Summary:
    data = plugin_data_pb2.HParamsPluginData(
        version=hparams_metadata.PLUGIN_DATA_VERSION, **content
    )
    metadata = of_plugin(hparams_metadata.PLUGIN_NAME, data.SerializeToString())
    return Summary(value=[Summary.Value(tag=tag, metadata=metadata)])


def mesh(
    tag: str,
    vertices: Any,
    colors: Any,
    faces: Any,
    config_dict: Mapping[str, Any] | None,
    display_name: str | None = None,
    description: str | None = None,
) -> Summary:
    """Points in space of shape (B, N, 3), with colours and triangles if given."""
    kinds = MeshPluginData
    given = [(vertices, kinds.VERTEX), (faces, kinds.FACE), (colors, kinds.COLOR)]
    parts = [(as_array(part), kind) for part, kind in given if part is not None]
    present = mesh_metadata.get_components_bitmask([kind for _, kind in parts])
    config = "{}" if config_dict is None else json.dumps(config_dict, sort_keys=True)
    values = []
    for part, kind in parts:
        if part.ndim != 3:
            raise ValueError(
                f"a mesh is given by tensors of shape (B, N, 3), given {part.shape}"
            )
        metadata = mesh_metadata.create_summary_metadata(
            *(tag, display_name, kind, present, part.shape, description),
            json_config=config,
        )
        message = TensorProto(
            dtype="DT_FLOAT",
            float_val=part.reshape(-1).tolist(),
            tensor_shape=shape_message(part.shape),
        )
        name = mesh_metadata.get_instance_name(tag, kind)
        values.append(Summary.Value(tag=name, tensor=message, metadata=metadata))
    return Summary(value=values)
