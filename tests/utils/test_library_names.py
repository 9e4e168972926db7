"""What libraries ask for on import: amp, jit, tensor types, the version."""

import collections
import inspect
import math
import pickle

import pytest

import pellucid as torch
from pellucid.amp import GradScaler


def test_constants():
    assert (torch.pi, torch.e, torch.inf) == (math.pi, math.e, math.inf)
    assert math.isnan(torch.nan) and torch.newaxis is None


def test_tensor_types_construct_and_answer_isinstance():
    whole = torch.LongTensor([1, 2])
    assert whole.dtype == torch.int64 and whole.tolist() == [1, 2]
    assert torch.FloatTensor(2, 3).shape == (2, 3)
    assert torch.FloatTensor().shape == (0,)
    assert torch.ByteTensor(torch.Size([2, 2])).shape == (2, 2)
    assert torch.LongTensor([1.5]).tolist() == [1]
    assert isinstance(whole, torch.LongTensor)
    assert not isinstance(whole, torch.IntTensor)
    assert whole.type(torch.DoubleTensor).dtype == torch.float64
    assert whole.type("torch.HalfTensor").dtype == torch.float16
    with pytest.raises(TypeError, match=r"tensor\.to"):
        torch.LongTensor(torch.ones(2))
    with pytest.raises(TypeError, match="one sequence"):
        torch.LongTensor([1], [2])


@pytest.mark.filterwarnings("ignore:set_default_tensor_type is deprecated")
def test_default_tensor_type():
    try:
        torch.set_default_tensor_type(torch.DoubleTensor)
        assert torch.ones(1).dtype == torch.float64
        with pytest.raises(TypeError):
            torch.set_default_tensor_type("torch.LongTensor")
    finally:
        torch.set_default_tensor_type("torch.FloatTensor")
    assert torch.ones(1).dtype == torch.float32


def test_scripted_functions_are_themselves():
    def function(x):
        return x + 1

    for decorate in (
        torch.jit.script,
        torch.jit.unused,
        torch.jit.ignore,
        torch.jit.ignore(drop=True),
    ):
        assert decorate(function) is function
    assert not torch.jit.is_scripting() and not torch.compiler.is_compiling()
    assert torch.jit.isinstance([1], list[int])
    assert torch.jit.Attribute(3, int) == 3


def test_autocast_of_a_device_that_is_not_there_is_off():
    with pytest.warns(UserWarning, match="no device of type 'cuda'"):
        region = torch.autocast("cuda")
    assert region(lambda: 5)() == 5
    assert not torch.is_autocast_enabled()
    with pytest.raises(ValueError, match="device_type"):
        torch.autocast(None)


def test_scaled_steps_unscale_skip_overflow_and_adapt():
    w = torch.ones(2, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.25)
    scaler = GradScaler("cpu", init_scale=8.0, growth_interval=2)
    for _ in range(2):
        optimizer.zero_grad()
        scaler.scale((w * w).sum()).backward()
        scaler.unscale_(optimizer)
        assert w.grad.equal(2 * w.detach())
        scaler.step(optimizer)
        scaler.update()
    assert w.tolist() == [0.25, 0.25] and scaler.get_scale() == 16.0
    w.grad = torch.tensor([1.0, math.inf])
    scaler.step(optimizer)
    scaler.update()
    assert w.tolist() == [0.25, 0.25] and scaler.get_scale() == 8.0
    again = GradScaler("cpu")
    again.load_state_dict(scaler.state_dict())
    assert again.get_scale() == 8.0


def test_scaler_misuse_is_reported():
    w = torch.ones(2, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.25)
    scaler = GradScaler("cpu")
    with pytest.raises(AssertionError, match="step"):
        scaler.update()
    scaler.scale(w.sum()).backward()
    scaler.unscale_(optimizer)
    with pytest.raises(RuntimeError, match="twice"):
        scaler.unscale_(optimizer)
    scaler.step(optimizer)
    with pytest.raises(RuntimeError, match="twice"):
        scaler.step(optimizer)
    with pytest.raises(ValueError, match="list or tuple"):
        scaler.scale("loss")
    with pytest.warns(UserWarning, match="not scaled"):
        off = GradScaler()
    assert off.scale(3) == 3 and off.get_scale() == 1.0 and off.state_dict() == {}


def test_the_run_command_answers_for_torchs_version(tmp_path):
    import subprocess
    import sys

    program = (
        "import importlib.metadata, importlib.util\n"
        "print(importlib.metadata.version('torch'))\n"
        "print(importlib.util.find_spec('torchaudio_that_is_not') is None)\n"
        "from torch.cuda.amp import GradScaler\n"
    )
    command = [sys.executable, "-W", "ignore", "-m", "pellucid.run", "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [torch.version.api, "True"]


def test_futures_say_their_type():
    assert torch.futures.Future[int].__origin__ is torch.futures.Future


def test_collectives_say_that_there_is_no_group():
    from pellucid.distributed import ReduceOp, all_reduce, get_rank

    with pytest.raises(ValueError, match="not been initialized"):
        get_rank()
    with pytest.raises(ValueError, match="not been initialized"):
        all_reduce(torch.ones(2), op=ReduceOp.SUM)


def test_records_of_a_file(tmp_path):
    torch.save({"x": torch.ones(3)}, tmp_path / "x.pt")
    reader = torch.PyTorchFileReader(tmp_path / "x.pt")
    assert reader.has_record("data.pkl") and not reader.has_record("nothing")
    assert reader.get_record("data/0") == torch.ones(3).numpy().tobytes()
    with pytest.raises(pickle.UnpicklingError):
        reader.get_record("nothing")


def test_layers_are_where_libraries_look_for_them():
    from pellucid.nn.modules.instancenorm import _InstanceNorm

    assert issubclass(torch.nn.InstanceNorm2d, _InstanceNorm)


def test_tensors_of_data_are_made_in_the_scope_of_a_device():
    with torch.device("meta"):
        result = [torch.tensor([1.0]), torch.as_tensor([1]), torch.ones(2)]
        assert torch.tensor(1.0, device="cpu").device.type == "cpu"
    assert {tensor.device.type for tensor in result} == {"meta"}


def test_tensors_are_grouped_by_dtype():
    from pellucid.utils._foreach_utils import _group_tensors_by_device_and_dtype

    x, y = torch.ones(1), torch.ones(1, dtype=torch.float64)
    groups = _group_tensors_by_device_and_dtype([[x, y, x], []], with_indices=True)
    assert [indices for _, indices in groups.values()] == [[0, 2], [1]]
    assert groups[x.device, torch.float32][0] == [[x, x], []]


def test_exports_are_refused():
    assert not torch.onnx.is_in_onnx_export()
    with pytest.raises(NotImplementedError, match="ONNX"):
        torch.onnx.export(torch.nn.Linear(1, 1), torch.ones(1), "x.onnx")


def test_places_are_drawn_into_a_tensor():
    places = torch.empty(5, dtype=torch.int64)
    torch.manual_seed(0)
    assert torch.multinomial(torch.ones(8), 5, out=places) is places
    torch.manual_seed(0)
    assert torch.equal(torch.multinomial(torch.ones(8), 5), places)


def test_modules_have_a_signature():
    layer = torch.nn.Linear(1, 1)
    assert str(inspect.signature(layer)) == "(*args, **kwargs)"
    assert "in_features" in inspect.signature(torch.nn.Linear).parameters


def test_libraries_walk_trees_themselves():
    from pellucid.utils import _pytree as trees

    point = collections.namedtuple("point", ["x", "y"])
    for node in ([1, 2], {"a": 1, "b": 2}, point(1, 2)):
        cls = trees._get_node_type(node)
        children, context = trees.SUPPORTED_NODES[cls].flatten_fn(node)
        spec = trees.TreeSpec(cls, context, [trees.LeafSpec() for _ in children])
        assert trees.tree_unflatten(children, spec) == node


def test_calls_wait_for_rpc():
    from pellucid.distributed import rpc

    @rpc.api._require_initialized
    def called():
        return 1

    assert called.__name__ == "called"
    with pytest.raises(RuntimeError):
        called()


def test_meshes_are_an_attribute_of_distributed():
    assert torch.distributed.device_mesh.DeviceMesh is torch.distributed.DeviceMesh


def test_inverse_transforms_have_a_class():
    from pellucid.distributions import ExpTransform, transforms

    assert isinstance(ExpTransform().inv, transforms._InverseTransform)


def test_assertions_of_one_element():
    torch._assert_async(torch.tensor(1.0))
    with pytest.raises(RuntimeError, match="nonzero"):
        torch._assert_async(torch.tensor(False))
    with pytest.raises(RuntimeError, match="mine"):
        torch._assert_async(torch.tensor(0), "mine")


def test_segments_by_the_name_of_libraries():
    values, lengths = torch.arange(6.0), torch.tensor([2, 4])
    actual = torch._segment_reduce(values, "sum", lengths=lengths)
    assert actual.tolist() == [1, 14]


def test_contexts_of_libraries_decorate():
    from pellucid.utils import _contextlib

    entered = []

    class Counting(_contextlib._DecoratorContextManager):
        def __init__(self, name="a"):
            self.name = name

        def __enter__(self):
            entered.append(self.name)

        def __exit__(self, *failure):
            entered.append("end")

        def clone(self):
            return type(self)(self.name)

    class Plain(_contextlib._NoParamDecoratorContextManager):
        def __enter__(self):
            entered.append("a")

        def __exit__(self, *failure):
            entered.append("end")

    assert Counting("b")(lambda x: x + 1)(1) == 2
    assert Plain(lambda x: x + 1)(1) == 2
    assert entered == ["b", "end", "a", "end"]
