"""`torch.utils.tensorboard`: event files, read back by the package tensorboard.

The expected messages are computed here by other means, or were recorded from PyTorch
2.13, whose files were compared event by event.
"""

import io
import os
import wave

import numpy as np
import pytest

import pellucid as torch

pytest.importorskip("tensorboard")

from tensorboard.backend.event_processing.event_file_loader import RawEventFileLoader
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.graph_pb2 import GraphDef
from tensorboard.plugins.custom_scalar.layout_pb2 import Layout
from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData

from pellucid.utils.tensorboard import SummaryWriter
from pellucid.utils.tensorboard.summary import hparams


def events(folder):
    """Every event in the files of one directory, without the first, the version."""
    actual = []
    for name in sorted(os.listdir(folder)):
        if "tfevents" in name:
            raw = RawEventFileLoader(os.path.join(folder, name)).Load()
            actual += [Event.FromString(each) for each in raw][1:]
    return actual


@pytest.fixture
def logged(tmp_path):
    """Calls a method of a writer; gives the one value that it wrote."""

    def call(method, *args, **kwargs):
        with SummaryWriter(tmp_path / "run") as writer:
            getattr(writer, method)(*args, **kwargs)
        return events(tmp_path / "run")[-1].summary.value[0]

    return call


def test_scalars_have_steps_and_times(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        writer.add_scalar("loss", torch.tensor(2.5, requires_grad=True), 3, walltime=7)
        writer.add_scalar(
            "loss", torch.tensor(1.5, dtype=torch.bfloat16), torch.tensor(4)
        )
    first, second = events(tmp_path)
    assert (first.step, first.wall_time, first.summary.value[0].tag) == (3, 7.0, "loss")
    assert first.summary.value[0].simple_value == 2.5
    assert (second.step, second.summary.value[0].simple_value) == (4, 1.5)


def test_new_style_scalars_are_tensors(logged):
    single = logged("add_scalar", "a", 0.1, new_style=True)
    assert single.metadata.plugin_data.plugin_name == "scalars"
    assert list(single.tensor.float_val) == [float(np.float32(0.1))]
    double = logged("add_scalar", "a", 0.1, new_style=True, double_precision=True)
    assert list(double.tensor.double_val) == [0.1]


def test_scalars_of_one_chart_are_runs_of_their_own(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        writer.add_scalars("a/b", {"x": 1, "y": 2.5}, 4)
        writer.add_scalars("a/b", {"x": 3}, 5)
    of_x = [
        (e.step, e.summary.value[0].simple_value) for e in events(tmp_path / "a_b_x")
    ]
    assert of_x == [(4, 1.0), (5, 3.0)]
    assert [e.summary.value[0].tag for e in events(tmp_path / "a_b_y")] == ["a/b"]


@pytest.mark.parametrize(
    ("dtype", "kind", "field", "values"),
    [
        ("float32", 1, "float_val", [0.0, 1.0, 3.0]),
        ("float64", 2, "double_val", [0.0, 1.0, 3.0]),
        ("float16", 19, "half_val", [0, 0x3F800000, 0x40400000]),
        ("bfloat16", 14, "half_val", [0, 0x3F800000, 0x40400000]),
        ("int8", 6, "int_val", [0, 1, 3]),
        ("uint8", 4, "uint32_val", [0, 1, 3]),
        ("int64", 9, "int64_val", [0, 1, 3]),
        ("complex64", 8, "scomplex_val", [0.0, 0.0, 1.0, 0.0, 3.0, 0.0]),
        ("bool", 10, "bool_val", [False, True, True]),
    ],
)
def test_tensors_of_each_dtype(logged, dtype, kind, field, values):
    tensor = torch.tensor([[0, 1, 3]]).to(getattr(torch, dtype))
    message = logged("add_tensor", "t", tensor).tensor
    assert (message.dtype, list(getattr(message, field))) == (kind, values)
    assert [dim.size for dim in message.tensor_shape.dim] == [1, 3]


def test_histograms_begin_with_an_empty_bucket(logged):
    values = torch.tensor([[1.0, 2.0, 2.5], [7.0, 8.0, 9.0]])
    histo = logged("add_histogram", "h", values, bins=[0, 1, 3, 5, 8, 10, 20]).histo
    assert list(histo.bucket_limit) == [1, 3, 5, 8, 10]
    assert list(histo.bucket) == [0, 3, 0, 1, 2]
    assert (histo.min, histo.max, histo.num) == (1, 9, 6)
    assert (histo.sum, histo.sum_squares) == (29.5, 205.25)


def test_histograms_join_neighbouring_buckets(logged):
    histo = logged("add_histogram", "h", np.arange(37.0), bins=37, max_bins=5).histo
    assert list(histo.bucket) == [0, 7, 7, 7, 7, 7, 2]
    assert histo.bucket_limit[-1] == 36


def test_default_buckets_hold_all_finite_values(logged):
    values = torch.tensor([-1e19, -1e-13, 0.0, 1e-3, 1e19], dtype=torch.float64)
    histo = logged("add_histogram", "h", values).histo
    limits, counts = np.array(histo.bucket_limit), np.array(histo.bucket)
    assert counts.sum() == 5
    assert limits[0] <= -1e19
    assert limits[-1] >= 1e19
    step = limits[-1] / limits[-2]
    assert step == pytest.approx(1.1)


def pixels(value):
    image = pytest.importorskip("PIL.Image")
    return np.asarray(image.open(io.BytesIO(value.image.encoded_image_string)))


def test_images_of_every_layout_have_the_same_pixels(logged):
    torch.manual_seed(0)
    chw = torch.rand(3, 4, 5) * 1.2 - 0.1
    expected = (chw.permute(1, 2, 0) * 255).clamp(0, 255).to(torch.uint8).numpy()
    for order, layout in (((0, 1, 2), "CHW"), ((1, 2, 0), "HWC"), ((2, 0, 1), "wch")):
        value = logged("add_image", "i", chw.permute(order), dataformats=layout)
        np.testing.assert_array_equal(pixels(value), expected)
        assert (value.image.height, value.image.width) == (4, 5)


def test_several_images_are_a_grid(logged):
    images = torch.arange(9, dtype=torch.uint8).reshape(9, 1, 1, 1).expand(9, 1, 2, 3)
    drawn = pixels(logged("add_images", "i", images))
    assert drawn.shape == (4, 24, 3)
    assert drawn[0, ::3, 0].tolist() == [0, 1, 2, 3, 4, 5, 6, 7]
    assert drawn[2, ::3, 1].tolist() == [8, 0, 0, 0, 0, 0, 0, 0]


def test_boxes_are_red(logged):
    image = torch.zeros(3, 20, 30)
    boxes = torch.tensor([[5, 4, 25, 15]])
    drawn = pixels(logged("add_image_with_boxes", "b", image, boxes, labels="x"))
    assert drawn[10, 5].tolist() == [255, 0, 0]
    assert drawn[10, 1].tolist() == [0, 0, 0]
    larger = logged("add_image_with_boxes", "b", image, boxes, rescale=2)
    assert pixels(larger).shape == (40, 60, 3)


def test_video_is_an_animation(logged):
    image = pytest.importorskip("PIL.Image")
    clip = torch.arange(3).reshape(1, 3, 1, 1, 1).expand(2, 3, 3, 4, 5) * 0.4
    value = logged("add_video", "v", clip, fps=2)
    assert (value.image.height, value.image.width) == (4, 10)
    animation = image.open(io.BytesIO(value.image.encoded_image_string))
    assert (animation.n_frames, animation.info["duration"]) == (3, 500)


def test_sound_is_16_bits_of_one_channel(logged, capsys):
    samples = torch.tensor([[0.0, 0.5, -1.0, 2.0]])
    value = logged("add_audio", "s", samples, sample_rate=8000)
    with wave.open(io.BytesIO(value.audio.encoded_audio_string)) as sound:
        assert (sound.getframerate(), sound.getnchannels()) == (8000, 1)
        frames = np.frombuffer(sound.readframes(4), "<i2")
    assert frames.tolist() == [0, 16383, -32767, 32767]
    assert "clipped" in capsys.readouterr().out


def test_text_and_layouts(logged):
    value = logged("add_text", "note", "hellö *x*")
    assert (value.tag, value.tensor.string_val[0].decode()) == (
        "note/text_summary",
        "hellö *x*",
    )
    charts = {"d": ["Margin", ["a", "b", "c"]], "e": ["Multiline", ["x", "y"]]}
    value = logged("add_custom_scalars", {"T": charts})
    margin, lines = Layout.FromString(value.tensor.string_val[0]).category[0].chart
    assert margin.margin.series[0].upper == "c"
    assert list(lines.multiline.tag) == ["x", "y"]


def test_precision_and_recall(logged):
    labels = torch.tensor([0, 1, 1, 0, 1])
    scores = torch.tensor([0.1, 0.9, 0.6, 0.7, 0.2])
    value = logged("add_pr_curve", "p", labels, scores, num_thresholds=3)
    rows = np.array(value.tensor.float_val).reshape(6, 3)
    assert rows[:4].tolist() == [[3, 2, 0], [2, 1, 0], [0, 1, 2], [0, 1, 3]]
    np.testing.assert_allclose(rows[4], [3 / 5, 2 / 3, 0], rtol=1e-6)
    np.testing.assert_allclose(rows[5], [1, 2 / 3, 0], rtol=1e-6)


def test_meshes_have_a_value_for_each_part(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        writer.add_mesh("m", torch.ones(1, 4, 3), faces=torch.zeros(1, 2, 3).int())
    points, faces = events(tmp_path)[0].summary.value
    assert (points.tag, faces.tag) == ("m_VERTEX", "m_FACE")
    assert [dim.size for dim in faces.tensor.tensor_shape.dim] == [1, 2, 3]


def test_hyperparameters_are_three_messages_of_a_run(tmp_path):
    inputs = {"lr": 0.1, "act": "relu", "deep": True, "no": None, "t": torch.ones(1)}
    with SummaryWriter(tmp_path) as writer:
        writer.add_hparams(inputs, {"acc": 0.5}, {"act": ["relu", "gelu"]}, "first", 2)
    values = [event.summary.value[0] for event in events(tmp_path / "first")]
    assert [value.tag for value in values[3:]] == ["acc"]
    experiment, start, _ = [
        HParamsPluginData.FromString(value.metadata.plugin_data.content)
        for value in values[:3]
    ]
    assert {info.name: info.type for info in experiment.experiment.hparam_infos} == {
        "lr": 3,
        "act": 1,
        "deep": 3,
        "t": 3,
    }
    assert start.session_start_info.hparams["lr"].number_value == 0.1
    domain = experiment.experiment.hparam_infos[1].domain_discrete.values
    assert [value.string_value for value in domain] == ["relu", "gelu"]
    with pytest.raises(TypeError, match="list of values"):
        hparams({"a": 1}, {}, {"b": [1]})


def test_embeddings_are_files_of_the_projector(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        images = torch.ones(3, 3, 2, 2)
        rows = torch.tensor([[1.5, 2], [3, 4], [5, 6]])
        writer.add_embedding(rows, ["x", "y", "z"], images, 7, "a/b")
        labels = [[1, "p"], [2, "q"], [3, "r"]]
        writer.add_embedding(rows, labels, tag="n", metadata_header=["id", "name"])
    folder = tmp_path / "00007" / "a%2fb"
    assert (folder / "tensors.tsv").read_text() == "1.5\t2.0\n3.0\t4.0\n5.0\t6.0\n"
    assert (folder / "metadata.tsv").read_text() == "x\ny\nz\n"
    assert (folder / "sprite.png").read_bytes().startswith(b"\x89PNG")
    listed = (tmp_path / "projector_config.pbtxt").read_text()
    assert listed.count("tensor_path") == 2
    second = (tmp_path / "00000" / "n" / "metadata.tsv").read_text()
    assert second == "id\tname\n1\tp\n2\tq\n3\tr\n"


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body = torch.nn.Sequential(torch.nn.Linear(4, 5), torch.nn.Dropout())
        self.body[1].eval()

    def forward(self, x, scale):
        return self.body(x).relu() * scale["by"] + 1


def test_graphs_have_the_scopes_of_modules(tmp_path):
    model = Net()
    with SummaryWriter(tmp_path) as writer:
        writer.add_graph(model, (torch.ones(2, 4), {"by": torch.ones(5)}))
    assert (model.training, model.body[1].training) == (True, False)
    graph = GraphDef.FromString(events(tmp_path)[0].graph_def)
    nodes = {node.name: node for node in graph.node}
    assert len(nodes) == len(graph.node)
    linear = "Net/Sequential[body]/Linear[0]"
    assert {"input/x", "input/scale", f"{linear}/weight", f"{linear}/bias"} <= set(
        nodes
    )
    product = next(node for node in graph.node if node.op == "aten::addmm")
    assert product.name.startswith(f"{linear}/")
    assert "input/x" in product.input
    sizes = product.attr["_output_shapes"].list.shape[0].dim
    assert [dim.size for dim in sizes] == [2, 5]
    (last,) = nodes["output/output.1"].input
    assert (nodes[last].op, nodes[last].attr["attr"].s) == ("aten::add", b"other=1")
    assert all(source in nodes for node in graph.node for source in node.input)


def test_a_run_goes_on_in_another_file_after_closing(tmp_path):
    writer = SummaryWriter(tmp_path, purge_step=5, filename_suffix=".x")
    writer.add_scalar("a", 1, 5)
    writer.close()
    writer.close()
    writer.add_scalar("a", 2, 6)
    writer.flush()
    writer.close()
    files = [name for name in os.listdir(tmp_path) if name.endswith(".x")]
    assert len(files) == 2
    assert [event.step for event in events(tmp_path)] == [5, 5, 5, 6]


@pytest.mark.parametrize(
    ("error", "method", "args"),
    [
        (AssertionError, "add_scalar", ("x", torch.ones(2))),
        (NotImplementedError, "add_scalar", ("x", [1])),
        (NotImplementedError, "add_scalar", ("x", torch.ones(1, device="meta"))),
        (ValueError, "add_tensor", ("x", torch.ones(1, dtype=torch.complex32))),
        (ValueError, "add_histogram", ("x", torch.zeros(0))),
        (ValueError, "add_histogram", ("x", torch.tensor([float("nan")]))),
        (ValueError, "add_histogram_raw", ("x", 0, 1, 1, 1, 1, [1], [1, 2])),
        (AssertionError, "add_image", ("x", torch.ones(2, 2))),
        (AssertionError, "add_audio", ("x", torch.ones(2, 3))),
        (AssertionError, "add_custom_scalars_marginchart", (["a"],)),
        (TypeError, "add_hparams", ([], {})),
        (ValueError, "add_hparams", ({"a": [1]}, {})),
        (AssertionError, "add_embedding", (torch.ones(3, 2), ["a"])),
        (ValueError, "add_mesh", ("x", torch.ones(2, 3))),
        (AttributeError, "add_graph", (3,)),
        (RuntimeError, "add_graph", (torch.nn.Linear(2, 2),)),
        (NotImplementedError, "add_onnx_graph", ("model.onnx",)),
    ],
)
def test_what_cannot_be_logged_raises(tmp_path, error, method, args):
    with SummaryWriter(tmp_path) as writer, pytest.raises(error) as info:
        getattr(writer, method)(*args)
    assert 0 < len(str(info.value).splitlines()) <= 10
