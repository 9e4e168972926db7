"""__torch_dispatch__ of modes and wrapper subclasses; torch.ops' overload objects."""

import copy
import pickle
from typing import ClassVar

import pytest

import pellucid as torch
from pellucid.utils._python_dispatch import (
    TorchDispatchMode,
    _disable_current_modes,
    is_traceable_wrapper_subclass,
    no_dispatch,
    return_and_correct_aliasing,
    transform_subclass,
)

aten = torch.ops.aten


def tree_map(function, value):
    if isinstance(value, list | tuple):
        return type(value)(tree_map(function, item) for item in value)
    if isinstance(value, dict):
        return {key: tree_map(function, item) for key, item in value.items()}
    return function(value)


class Log(TorchDispatchMode):
    def __init__(self):
        self.calls = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.calls.append((func, args, kwargs))
        return func(*args, **kwargs)

    @property
    def names(self):
        return [str(func) for func, _, _ in self.calls]


class LoggingTensor(torch.Tensor):
    """Holds a tensor and notes every op on it."""

    log: ClassVar = []
    __torch_function__ = torch._C._disabled_torch_function_impl

    @staticmethod
    def __new__(cls, elem):
        return torch.Tensor._make_wrapper_subclass(
            cls,
            elem.size(),
            strides=elem.stride(),
            storage_offset=elem.storage_offset(),
            dtype=elem.dtype,
            device=elem.device,
            requires_grad=elem.requires_grad,
        )

    def __init__(self, elem):
        self.elem = elem.detach()

    def __repr__(self):
        return f"LoggingTensor({self.elem})"

    def __tensor_flatten__(self):
        return ["elem"], None

    @staticmethod
    def __tensor_unflatten__(inner, context, size, stride):
        return LoggingTensor(inner["elem"])

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        cls.log.append(str(func))

        def unwrap(value):
            return value.elem if isinstance(value, cls) else value

        def wrap(value):
            return cls(value) if isinstance(value, torch.Tensor) else value

        out = func(*tree_map(unwrap, args), **tree_map(unwrap, kwargs))
        return return_and_correct_aliasing(func, args, kwargs, tree_map(wrap, out))


@pytest.fixture
def log():
    LoggingTensor.log.clear()
    return LoggingTensor.log


def test_a_mode_sees_ops_below_autograd_forward_and_backward():
    x = torch.ones(2, 3, requires_grad=True)
    with Log() as log:
        y = (x * 2).reshape(6).sum()
        assert y.requires_grad and y.grad_fn is not None
        y.backward()
    assert log.names[:3] == ["aten.mul.Tensor", "aten.view.default", "aten.sum.default"]
    assert log.names[-1] == "aten.mul.Tensor"
    assert x.grad.tolist() == [[2, 2, 2], [2, 2, 2]]


def test_factories_and_arguments_as_the_caller_wrote_them():
    x = torch.ones(2)
    with Log() as log:
        torch.zeros(2, dtype=torch.float64)
        x.add(x, alpha=2)
        x.sum()
    (_, zeros, options), (_, add, alpha), (_, total, nothing) = log.calls
    assert zeros == ([2],) and options == {"dtype": torch.float64}
    assert add[0] is x and add[1] is x and alpha == {"alpha": 2}
    assert len(total) == 1 and nothing == {}


def test_modes_nest_and_answer_themselves():
    class Constant(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            if func is aten.add.Tensor:
                return aten.mul.Tensor(*args)
            return func(*args, **kwargs)

    two, three = torch.tensor(2.0), torch.tensor(3.0)
    with Log() as outer, Constant():
        assert (two + three).item() == 6
    assert outer.names == ["aten.mul.Tensor"]


def test_modes_can_be_left_for_a_while():
    x = torch.ones(1)
    with Log() as log:
        with _disable_current_modes():
            x + 1
        with no_dispatch():
            x + 1
        x * 1
    assert log.names == ["aten.mul.Tensor"]


def test_an_error_in_a_mode_leaves_it_in_force():
    class Fail(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            raise ValueError("no")

    x = torch.ones(1)
    with Fail():
        for _ in range(2):
            with pytest.raises(ValueError):
                x + 1
    assert (x + 1).item() == 2


def test_a_wrapper_has_a_shape_and_no_memory():
    x = LoggingTensor(torch.ones(2, 3, dtype=torch.float64).t())
    assert (tuple(x.shape), x.stride(), x.dtype) == ((3, 2), (1, 3), torch.float64)
    assert isinstance(x, torch.Tensor) and not x.requires_grad
    with pytest.raises(RuntimeError, match="has no memory of its own"):
        x.tolist()


def test_wrappers_go_through_ops_views_and_writes(log):
    x = LoggingTensor(torch.arange(6.0).view(2, 3))
    assert type(x + 1) is LoggingTensor and type(x[0]) is LoggingTensor
    assert torch.cat([x, x]).elem.shape == (4, 3)
    assert x.add_(1) is x and x.elem[0, 0].item() == 1
    assert log[:1] == ["aten.add.Tensor"]
    view = x.view(6)
    assert view._version == x._version == 1
    view.add_(1)
    assert x._version == 2  # one memory, one count of writes


def test_wrappers_are_saved_with_what_they_hold(tmp_path):
    elem = torch.arange(6.0, dtype=torch.float64).view(2, 3).t()
    x = LoggingTensor(elem)
    x.label = "scales"
    torch.save({"x": x, "elem": elem}, tmp_path / "file.pt")
    with pytest.raises(pickle.UnpicklingError, match="LoggingTensor"):
        torch.load(tmp_path / "file.pt", weights_only=True)
    with torch.serialization.safe_globals([LoggingTensor]):
        found = torch.load(tmp_path / "file.pt", weights_only=True)
    for made in (found, torch.load(tmp_path / "file.pt", weights_only=False)):
        assert type(made["x"]) is LoggingTensor and made["x"].label == "scales"
        assert (made["x"].shape, made["x"].stride()) == (x.shape, x.stride())
        assert made["x"].dtype is torch.float64
        assert torch.equal(made["x"].elem, elem)
        assert made["x"].elem.data_ptr() == made["elem"].data_ptr()


def test_gradients_of_wrappers_are_wrappers(log):
    x = LoggingTensor(torch.ones(2, requires_grad=True))
    y = (x.exp() * x).sum()
    y.backward()
    assert type(x.grad) is LoggingTensor
    assert torch.allclose(x.grad.elem, torch.full((2,), 2 * 2.718281828))


def test_wrappers_as_parameters_train():
    weight = torch.nn.Parameter(LoggingTensor(torch.ones(3)))
    assert type(weight.detach()) is LoggingTensor
    (weight * 2).sum().backward()
    assert type(weight.grad) is LoggingTensor


def test_a_class_that_declines_everything_is_a_type_error():
    class Declines(LoggingTensor):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return NotImplemented

    with pytest.raises(TypeError, match="NotImplemented"):
        Declines(torch.ones(1)) + 1


def test_subclasses_with_memory_may_call_the_op_they_replace():
    class Counted(torch.Tensor):
        count = 0
        __torch_function__ = torch._C._disabled_torch_function_impl

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            cls.count += 1
            return super().__torch_dispatch__(func, types, args, kwargs)

    x = torch.Tensor._make_subclass(Counted, torch.ones(2))
    assert (x + 1).tolist() == [2, 2] and Counted.count == 1


def test_a_wrapper_needs_the_protocol():
    class Silent(torch.Tensor):
        pass

    with pytest.raises(RuntimeError, match="__torch_dispatch__"):
        torch.Tensor._make_wrapper_subclass(Silent, (2,))


def test_wrappers_are_taken_apart_and_put_together():
    x = LoggingTensor(torch.ones(2))
    assert is_traceable_wrapper_subclass(x)
    assert not is_traceable_wrapper_subclass(x.elem)
    doubled = transform_subclass(x, lambda name, inner: inner * 2)
    assert doubled.elem.tolist() == [2, 2]


def test_overloads_are_objects_with_schemas():
    add = aten.add.Tensor
    assert add is aten.add.Tensor and add.overloadpacket is aten.add
    assert (str(add), add.name(), add.__name__) == (
        "aten.add.Tensor",
        "aten::add.Tensor",
        "add.Tensor",
    )
    assert repr(add) == "<OpOverload(op='aten.add', overload='Tensor')>"
    assert aten.relu.default._overloadname == "default"
    assert torch.Tag.pointwise in add.tags and not add.is_view
    assert aten.view.default.is_view


def test_schemas_are_parsed():
    schema = aten.add_.Tensor._schema
    assert (schema.name, schema.overload_name) == ("aten::add_", "Tensor")
    assert [a.name for a in schema.arguments] == ["self", "other", "alpha"]
    assert schema.is_mutable and schema.arguments[0].alias_info.is_write
    alpha = schema.arguments[2]
    assert alpha.kwarg_only and alpha.has_default_value() and alpha.default_value == 1
    assert str(aten.relu.default._schema) == "aten::relu(Tensor self) -> Tensor"


def test_overloads_can_be_copied_and_pickled():
    add = aten.add.Tensor
    assert copy.deepcopy(add) is add
    assert pickle.loads(pickle.dumps(add)) is add


def test_packets_name_their_overloads():
    assert "Tensor" in aten.add.overloads()
    with pytest.raises(AttributeError, match="no overload 'Nope'"):
        aten.add.Nope  # noqa: B018
    with pytest.raises(AttributeError):
        aten.no_such_op  # noqa: B018


def test_the_innermost_mode_can_be_left_for_a_while():
    from pellucid.utils import _python_dispatch as dispatch

    assert not dispatch.is_in_torch_dispatch_mode()
    with dispatch.BaseTorchDispatchMode() as mode:
        with dispatch._pop_mode_temporarily() as left:
            assert left is mode and not dispatch.is_in_torch_dispatch_mode()
        assert dispatch.is_in_torch_dispatch_mode()
    assert not dispatch.is_traceable_wrapper_subclass_type(torch.Tensor)


class Held(torch.Tensor):
    """A wrapper of one tensor; none of its ops are defined."""

    @staticmethod
    def __new__(cls, held):
        return torch.Tensor._make_wrapper_subclass(cls, held.shape, dtype=held.dtype)

    def __init__(self, held):
        self.held = held

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        return NotImplemented


def test_wrappers_are_copied_and_pickled_with_what_they_hold():
    x = Held(torch.arange(4.0).view(2, 2))
    first, second = copy.deepcopy([x, x])
    assert first is second and first is not x
    for made in (first, pickle.loads(pickle.dumps(x))):
        assert type(made) is Held and made.shape == (2, 2)
        assert torch.equal(made.held, x.held) and made.held is not x.held
