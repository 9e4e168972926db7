"""__torch_function__ of subclasses, other objects and modes; torch.overrides."""

import copy
import inspect
import pickle
import subprocess
import sys
from typing import Any, ClassVar

import pytest

import pellucid as torch
from pellucid import overrides
from pellucid.overrides import BaseTorchFunctionMode, TorchFunctionMode, resolve_name


class ScalarTensor:
    """The diagonal matrix of one value, known by two numbers."""

    handled: ClassVar = {}

    def __init__(self, size, value):
        self.size, self.value = size, value

    def tensor(self):
        return self.value * torch.eye(self.size)

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if func not in cls.handled:
            return NotImplemented
        return cls.handled[func](*args, **(kwargs or {}))


def implements(function):
    def register(replacement):
        ScalarTensor.handled[function] = replacement
        return replacement

    return register


@implements(torch.mean)
def scalar_mean(input):
    return input.value / input.size


@implements(torch.add)
def scalar_add(input, other):
    return ScalarTensor(input.size, input.value + other.value)


class Logged(torch.Tensor):
    """Notes what is called on it."""

    calls: ClassVar = []

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        cls.calls.append((resolve_name(func), len(args), sorted(kwargs or {})))
        return super().__torch_function__(func, types, args, kwargs or {})


class Metadata:
    """A tensor and what is known of it: composition instead of a subclass."""

    def __init__(self, data, note=None):
        self.data, self.note = data, note

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        notes = tuple(a.note for a in args if isinstance(a, cls))
        plain = [a.data if isinstance(a, cls) else a for a in args]
        return cls(func(*plain, **(kwargs or {})), notes[0])


def test_objects_that_are_not_tensors_take_calls():
    assert torch.mean(ScalarTensor(5, 2)) == 0.4
    total = torch.add(ScalarTensor(5, 2), ScalarTensor(5, 1))
    assert (total.size, total.value) == (5, 3)


def test_a_call_that_all_decline_is_a_type_error():
    with pytest.raises(TypeError, match="NotImplemented"):
        torch.mul(ScalarTensor(5, 2), torch.ones(2))


def test_metadata_is_carried_through_calls():
    result = torch.add(Metadata(torch.ones(2), "note"), torch.ones(2))
    assert result.note == "note" and result.data.tolist() == [2, 2]


def test_subclasses_keep_their_class_through_ops_methods_and_operators():
    Logged.calls.clear()
    x = torch.ones(2).as_subclass(Logged)
    assert type(torch.exp(x)) is Logged
    assert type(x.add(1, alpha=2)) is Logged
    assert type(x * 2) is Logged and type(x[0]) is Logged
    assert Logged.calls[:2] == [
        ("torch.exp", 1, []),
        ("torch.Tensor.add", 2, ["alpha"]),
    ]


def test_a_subclass_is_called_before_its_base():
    asked = []

    class Base(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            asked.append(cls.__name__)
            return NotImplemented

    class Derived(Base):
        pass

    base, derived = (torch.ones(1).as_subclass(c) for c in (Base, Derived))
    with pytest.raises(TypeError):
        torch.add(base, derived)
    assert asked == ["Derived", "Base"]


def test_modes_see_every_call_and_may_answer_themselves():
    class Double(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            result = func(*args, **(kwargs or {}))
            return result * 2 if func is torch.ones else result

    with Double():
        assert torch.ones(2).tolist() == [2, 2]
    assert torch.ones(2).tolist() == [1, 1]


def test_modes_nest_and_may_be_put_in_force_again_inside():
    seen = []

    class Log(TorchFunctionMode):
        def __init__(self, name, again=False):
            self.name, self.again = name, again

        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append((self.name, func.__name__))
            if self.again and func is torch.ones:
                with self:
                    torch.zeros(1)
            return func(*args, **(kwargs or {}))

    with Log("outer"), Log("inner", again=True):
        torch.ones(1)
    assert seen == [
        ("inner", "ones"),
        ("inner", "zeros"),
        ("outer", "zeros"),
        ("outer", "ones"),
    ]


def test_a_mode_survives_an_exception_inside_it():
    class Fail(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            raise ValueError("no")

    with Fail():
        for _ in range(2):
            with pytest.raises(ValueError):
                torch.ones(1)
    assert overrides._get_current_function_mode() is None


def test_overrides_can_be_switched_off():
    Logged.calls.clear()
    x = torch.ones(2).as_subclass(Logged)
    with overrides.DisableTorchFunctionSubclass():
        assert type(x + 1) is torch.Tensor
    with BaseTorchFunctionMode(), overrides.DisableTorchFunction():
        assert not overrides.has_torch_function((x,))
        x + 1
    assert overrides.has_torch_function((x,)) and Logged.calls == []


def test_python_functions_take_part():
    @overrides.wrap_torch_function(lambda x, y=0: (x,))
    def twice(x, y=0):
        return x * 2

    assert torch.equal(twice(torch.ones(1)), torch.full((1,), 2.0))
    implements(twice)(lambda x, y=0: "overridden")
    assert twice(ScalarTensor(2, 1)) == "overridden"


def test_what_looks_like_a_tensor():
    assert overrides.is_tensor_like(torch.ones(1))
    assert overrides.is_tensor_like(ScalarTensor(1, 1))
    assert not overrides.is_tensor_like([1.0])


def test_overridable_functions_are_found_in_the_op_table():
    functions = overrides.get_overridable_functions()
    assert torch.add in functions[torch]
    assert torch.Tensor.add in functions[torch.Tensor]
    assert torch.nn.functional.gelu in functions[torch.nn.functional]
    assert torch.is_grad_enabled in overrides.get_ignored_functions()


def test_stand_ins_have_the_functions_parameters():
    stand_in = overrides.get_testing_overrides()[torch.softmax]
    assert list(inspect.signature(stand_in).parameters) == ["input", "dim", "dtype"]
    assert stand_in(1, 2) == -1


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (torch.add, "torch.add"),
        (torch.Tensor.add, "torch.Tensor.add"),
        (torch.nn.functional.gelu, "torch.nn.functional.gelu"),
        (torch.ops.aten.add.Tensor, "aten.add.Tensor"),
        (len, None),
    ],
)
def test_functions_are_named(function, name):
    assert resolve_name(function) == name


def test_methods_are_distinguished_from_functions():
    assert overrides.is_tensor_method_or_property(torch.Tensor.add)
    assert not overrides.is_tensor_method_or_property(torch.add)


class Foreign:
    """A tensor of a library whose functions ask for overrides, as ours do."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


def foreign_add(x, y):
    if hasattr(type(x), "__torch_function__"):
        return type(x).__torch_function__(foreign_add, (type(x),), (x, y))
    return x + y


def test_tensors_of_another_library_are_refused():
    with pytest.raises(TypeError, match="another library"):
        torch.add(torch.ones(2), Foreign())
    with pytest.raises(TypeError, match="another library"):
        torch.ones(2) + Foreign()


def test_functions_of_another_library_are_refused():
    with pytest.raises(TypeError, match="another library"):
        foreign_add(torch.ones(2), torch.ones(2))
    assert torch.add(torch.ones(2), 1).tolist() == [2.0, 2.0]


def test_gradients_go_through_subclasses() -> None:
    class Plain(torch.Tensor):
        pass

    x = torch.ones(2, requires_grad=True)
    y = x.as_subclass(Plain)
    z = (y * 3).exp()
    assert type(z) is Plain and y.grad_fn is not None and z.grad_fn is not None
    z.sum().backward()
    assert torch.allclose(x.grad, 3 * torch.exp(torch.full((2,), 3.0)))
    assert not (y * 3).is_leaf and not torch.ones(2).as_subclass(Plain).requires_grad


def test_special_methods_are_seen_where_python_calls_them() -> None:
    seen: list[str] = []

    class Noting(torch.Tensor):
        @classmethod
        def __torch_function__(
            cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            seen.append(func.__name__)
            return super().__torch_function__(func, types, args, kwargs or {})

    one = torch.ones(1).as_subclass(Noting)
    count = torch.ones((), dtype=torch.int64).as_subclass(Noting)
    for call, name in (
        (lambda: len(one), "__len__"),
        (lambda: bool(one), "__bool__"),
        (lambda: float(one), "__float__"),
        (lambda: int(one), "__int__"),
        (lambda: complex(one), "__complex__"),
        (lambda: [0, 7][count], "__index__"),
        (lambda: repr(one), "__repr__"),
        (lambda: str(one), "__repr__"),
        (lambda: 1.0 in one, "__contains__"),
        (lambda: reversed(one), "__reversed__"),
        (lambda: copy.deepcopy(one), "__deepcopy__"),
        (lambda: copy.copy(one), "__reduce_ex__"),
    ):
        seen.clear()
        call()
        assert seen[0] == name
    assert [0, 7][count] == 7 and len(one) == 1 and float(one) == 1.0
    assert type(copy.deepcopy(one)) is type(copy.copy(one)) is Noting


def test_special_methods_may_be_answered_otherwise() -> None:
    class Fixed(torch.Tensor):
        @classmethod
        def __torch_function__(
            cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            answers = {torch.Tensor.__len__: 5, torch.Tensor.__repr__: "fixed"}
            if func in answers:
                return answers[func]
            return super().__torch_function__(func, types, args, kwargs or {})

    x = torch.ones(2).as_subclass(Fixed)
    assert len(x) == 5 and repr(x) == "fixed"
    assert len(torch.ones(2)) == 2


def test_modes_see_special_methods_of_plain_tensors() -> None:
    seen: list[str] = []

    class Mode(TorchFunctionMode):
        def __torch_function__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            seen.append(func.__name__)
            return func(*args, **(kwargs or {}))

    x = torch.ones(1)
    with Mode():
        actual = (len(x), bool(x), float(x), repr(x))
    assert seen == ["__len__", "__bool__", "__float__", "__repr__"]
    assert actual == (1, True, 1.0, "tensor([1.])")


def test_operators_have_pytorch_s_names() -> None:
    class Named(torch.Tensor):
        names: ClassVar = []

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            cls.names.append(func.__name__)
            return super().__torch_function__(func, types, args, kwargs or {})

    x = torch.tensor([2.0, 3.0]).as_subclass(Named)
    bits = torch.tensor([2, 3]).as_subclass(Named)
    for compute, names, expected in (
        (lambda: 2 - x, ["__rsub__"], [0.0, -1.0]),
        (lambda: 6 / x, ["__rtruediv__"], [3.0, 2.0]),
        (lambda: 7 // x, ["__rfloordiv__"], [3.0, 2.0]),
        (lambda: 7 % x, ["__rmod__"], [1.0, 1.0]),
        (lambda: 2**x, ["__rpow__"], [4.0, 8.0]),
        (lambda: 1 << bits, ["__rlshift__"], [4, 8]),
        (lambda: x // 2, ["__floordiv__"], [1.0, 1.0]),
        (lambda: x == 2, ["__eq__"], [True, False]),
        (lambda: ~bits, ["__invert__"], [-3, -4]),
        (lambda: bits & 2, ["__and__"], [2, 2]),
        (lambda: 2 & bits, ["bitwise_and"], [2, 2]),
        (lambda: 2 + x, ["add"], [4.0, 5.0]),
        (lambda: torch.ones(2) - x, ["sub"], [-1.0, -2.0]),
    ):
        Named.names.clear()
        result = compute()
        assert Named.names == names and type(result) is Named
        assert result.as_subclass(torch.Tensor).tolist() == expected


def test_a_tensor_is_iterated_over_by_unbind() -> None:
    Logged.calls.clear()
    parts = list(torch.ones(2, 3).as_subclass(Logged))
    assert [type(p) for p in parts] == [Logged, Logged]
    assert "torch.Tensor.unbind" in [name for name, *_ in Logged.calls]


class Named(TorchFunctionMode):
    """The names of what was called."""

    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.names.append(resolve_name(func))
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (lambda x: torch.norm(x), "torch.norm"),
        (lambda x: torch.einsum("ij->i", x), "torch.einsum"),
        (lambda x: torch.vander(x.diagonal()), "torch.vander"),
        (lambda x: torch.det(x), "torch.det"),
        (
            lambda x: torch.stft(x[0], 2, 1, window=torch.ones(2), return_complex=True),
            "torch.stft",
        ),
        (lambda x: torch.fft.fft(x), "torch.fft.fft"),
        (lambda x: torch.linalg.inv(x), "torch.linalg.inv"),
        (lambda x: torch.nn.functional.mse_loss(x, x), "torch.nn.functional.mse_loss"),
        (lambda x: torch.autograd.grad(x.sum(), x), "torch.autograd.grad"),
        (lambda x: x.norm(), "torch.Tensor.norm"),
        (lambda x: x.polygamma(1), "torch.Tensor.polygamma"),
        (lambda x: x[0], "torch.Tensor.__getitem__"),
    ],
)
def test_functions_in_python_are_seen_as_themselves(function, name):
    with Named() as mode:
        function((torch.eye(3) + torch.ones(3, 3)).requires_grad_())
    assert mode.names[-1] == name


def test_an_object_other_than_a_tensor_takes_calls_of_python_functions():
    class Answer:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return func, kwargs

    softmax = torch.nn.functional.softmax
    assert softmax(Answer(), dim=1) == (softmax, {"dim": 1})
    assert torch.block_diag(Answer())[0] is torch.block_diag
    assert torch.cartesian_prod([Answer()])[0] is torch.cartesian_prod


def test_functions_in_python_stay_functions_to_others():
    softmax = torch.nn.functional.softmax
    assert list(inspect.signature(softmax).parameters)[:2] == ["input", "dim"]
    assert softmax.__name__ == "softmax" and softmax.__doc__
    assert copy.deepcopy(softmax) is softmax
    assert pickle.loads(pickle.dumps(torch.einsum)) is torch.einsum
    assert pickle.loads(pickle.dumps(torch.det)) == torch.det
    assert softmax in overrides.get_overridable_functions()[torch.nn.functional]


class Answering(TorchFunctionMode):
    """Answers with how many arguments it was called with, and the last."""

    def __torch_function__(self, *arguments):
        return len(arguments), arguments[-1]


@pytest.mark.parametrize(
    "call",
    [
        lambda x: torch.add(x, x),
        lambda x: x.relu(),
        lambda x: x - x,
        lambda x: x.shape,
        lambda x: x[0],
    ],
)
def test_builtin_calls_without_keywords_have_no_kwargs(call):
    x = torch.ones(2)
    with Answering():
        count, last = call(x)
    assert count == 3
    assert last[0] is x


def test_keywords_and_functions_in_python_give_a_dict():
    x = torch.ones(2)
    with Answering():
        assert torch.add(x, x, alpha=2) == (4, {"alpha": 2})
        assert torch.nn.functional.relu(x) == (4, {})
        assert torch.nn.functional.softmax(x, dim=0)[1] == {"dim": 0}
        assert x.norm() == (4, {})


def told(*arguments):
    return len(arguments), arguments[0]


class Callable:
    def __call__(self, *arguments):
        return told(*arguments)


class Tells:
    __torch_function__ = classmethod(lambda *given: told(*given))


class TellsByInheritance(Tells):
    pass


class TellsStatically:
    __torch_function__ = staticmethod(told)


class TellsByCallable:
    __torch_function__ = Callable()


class TellsByWrappedCallable:
    __torch_function__ = classmethod(Callable())


@pytest.mark.parametrize(
    ("kind", "count", "first"),
    [
        (Tells, 4, Tells),
        (TellsByInheritance, 4, TellsByInheritance),
        (TellsStatically, 3, torch.mul),
        (TellsByCallable, 3, torch.mul),
        (TellsByWrappedCallable, 4, TellsByWrappedCallable),
    ],
)
def test_the_method_may_be_any_callable(kind, count, first):
    assert torch.mul(kind(), torch.ones(2)) == (count, first)
    assert torch.mul(torch.ones(2), kind()) == (count, first)


def test_a_method_may_be_replaced_while_it_runs_and_later():
    class Changing:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            cls.__torch_function__ = classmethod(lambda *arguments: "later")
            return "first"

    x = torch.ones(2)
    assert [torch.add(x, Changing()) for _ in range(3)] == ["first", "later", "later"]


def test_many_classes_are_called_from_the_most_derived():
    asked = []

    def method(cls, func, types, args=(), kwargs=None):
        asked.append(cls)
        return NotImplemented

    classes = [type("Level0", (), {"__torch_function__": classmethod(method)})]
    for level in range(1, 20):
        classes.append(type(f"Level{level}", (classes[-1],), {}))
    with pytest.raises(TypeError, match="NotImplemented"):
        torch.stack([kind() for kind in classes])
    assert asked == classes[::-1]


def test_what_does_not_fit_is_refused_before_overrides():
    with pytest.raises(TypeError, match=r"add\(\)"):
        torch.add(Tells(), "text")
    with pytest.raises(TypeError, match=r"add\(\)"):
        torch.add(Tells(), torch.ones(2), 3, 4)


def test_a_method_that_is_bound_at_its_first_use_may_be_overridden():
    program = """
import pellucid as torch
calls = []
class Own(torch.Tensor):
    def polygamma(self, n):
        calls.append(n)
        return super().polygamma(n)
torch.ones(2).as_subclass(Own).polygamma(1)
assert calls == [1], calls
assert callable(torch.Tensor.polygamma_)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
