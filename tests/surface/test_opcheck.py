"""``torch.library.opcheck`` and rules of dispatch for one op and class."""

import pytest

import pellucid as torch
from pellucid.library import custom_op, opcheck, register_torch_dispatch
from pellucid.utils._python_dispatch import TorchDispatchMode

ALL = (
    "test_schema",
    "test_autograd_registration",
    "test_faketensor",
    "test_aot_dispatch_dynamic",
)


@pytest.fixture(scope="module")
def double():
    @custom_op("test_op_checks::double", mutates_args=())
    def double(x: torch.Tensor) -> torch.Tensor:
        return x.detach() * 2

    double.register_fake(torch.empty_like)
    double.register_autograd(lambda ctx, grad: grad * 2)
    return double


@pytest.mark.parametrize("needs_grad", [False, True])
def test_an_op_that_keeps_its_word(double, needs_grad):
    x = torch.rand(3, requires_grad=needs_grad)
    assert opcheck(double, (x,)) == dict.fromkeys(ALL, "SUCCESS")
    overload = torch.ops.test_op_checks.double.default
    assert opcheck(overload, (x,), test_utils="test_schema") == {
        "test_schema": "SUCCESS"
    }


def failures(op, *args):
    actual = opcheck(op, args, raise_exception=False)
    return {name: str(error) for name, error in actual.items() if error != "SUCCESS"}


def test_a_write_that_the_schema_does_not_name():
    @custom_op("test_op_checks::writes", mutates_args=())
    def writes(x: torch.Tensor) -> torch.Tensor:
        x.detach().mul_(2)
        return x.clone()

    writes.register_fake(torch.empty_like)
    actual = failures(writes, torch.ones(2))
    assert list(actual) == ["test_schema"]
    assert (
        "Argument x is not defined as mutable but was mutated" in actual["test_schema"]
    )
    with pytest.raises(Exception, match="test_schema failed"):
        opcheck(writes, (torch.ones(2),))


def test_a_result_in_memory_of_an_argument():
    @custom_op("test_op_checks::same", mutates_args=())
    def same(x: torch.Tensor) -> torch.Tensor:
        return x.view(-1)

    same.register_fake(torch.empty_like)
    assert "Return a clone" in failures(same, torch.ones(2))["test_schema"]


def test_shapes_without_data():
    @custom_op("test_op_checks::wrong_shape", mutates_args=())
    def wrong_shape(x: torch.Tensor) -> torch.Tensor:
        return x.detach()[1:].clone()

    actual = failures(wrong_shape, torch.ones(3))
    assert "register_fake" in actual["test_faketensor"]
    wrong_shape.register_fake(torch.empty_like)
    actual = failures(wrong_shape, torch.ones(3))
    assert "(3,)" in actual["test_faketensor"] or "[3]" in actual["test_faketensor"]
    assert "test_schema" not in actual


def test_a_kernel_that_is_differentiated_through_its_ops():
    lib = torch.library.Library("test_op_checks_plain", "DEF")
    lib.define("double(Tensor x) -> Tensor")
    lib.impl("double", lambda x: x * 2, "CompositeExplicitAutograd")
    op = torch.ops.test_op_checks_plain.double.default
    assert failures(op, torch.ones(2)) == {}
    actual = failures(op, torch.ones(2, requires_grad=True))
    assert "register_autograd" in actual["test_autograd_registration"]


def test_names_of_no_op_or_no_check(double):
    with pytest.raises(ValueError, match="takes an op"):
        opcheck(len, ([1],))
    with pytest.raises(ValueError, match="no check"):
        opcheck(double, (torch.ones(2),), test_utils="test_speed")
    with pytest.raises(ValueError, match="both"):
        opcheck(double, (torch.ones(2),), atol=1e-3)


class Plain(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


def test_modes_see_what_a_composition_calls():
    lib = torch.library.Library("test_op_checks_composed", "DEF")
    lib.define("double(Tensor x) -> Tensor")
    lib.impl("double", lambda x: x * 2, "CompositeImplicitAutograd")
    x = torch.ones(2, requires_grad=True)
    with Plain():
        y = torch.ops.test_op_checks_composed.double(x)
    y.sum().backward()
    assert x.grad.tolist() == [2, 2]


def test_a_rule_for_one_op_under_a_mode(double):
    class Mine(Plain):
        pass

    @register_torch_dispatch("test_op_checks::double", Mine)
    def rule(mode, func, types, args, kwargs):
        assert isinstance(mode, Mine)
        return func(*args, **kwargs) + 1

    x = torch.zeros(2)
    with Mine():
        assert double(x).tolist() == [1, 1]
        assert x.add(2).tolist() == [2, 2]
    with Plain():
        assert double(x).tolist() == [0, 0]


def test_a_rule_for_one_op_and_a_subclass(double):
    class Mine(torch.Tensor):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            raise AssertionError("the rule is asked instead")

    @register_torch_dispatch(double, Mine)
    def rule(cls, func, types, args, kwargs):
        assert (cls, types) == (Mine, (Mine,))
        return torch.ones(4)

    assert double(torch.zeros(2).as_subclass(Mine)).shape == (4,)


def test_a_rule_for_an_unknown_op():
    with pytest.raises(ValueError, match="is not a defined op"):
        register_torch_dispatch("test_op_checks::none", Plain, lambda *_: None)


@pytest.mark.parametrize(
    ("number", "write", "value"),
    [
        (0, lambda x: x.zero_(), float("nan")),
        (1, lambda x: x.fill_(torch.finfo(x.dtype).max), float("inf")),
        (2, lambda x: x.neg_(), 0.0),
        (3, lambda x: x.t_(), 1.0),
    ],
)
def test_writes_are_found_by_bits_and_strides(number, write, value):
    @custom_op(f"test_op_checks::writes{number}", mutates_args=())
    def writes(x: torch.Tensor) -> torch.Tensor:
        write(x)
        return x.clone()

    actual = opcheck(
        writes,
        (torch.full((2, 2), value),),
        test_utils="test_schema",
        raise_exception=False,
    )
    assert "Argument x is not defined as mutable but was mutated" in str(
        actual["test_schema"]
    )


def test_an_expanded_argument_is_not_written():
    @custom_op("test_op_checks::sums", mutates_args=())
    def sums(x: torch.Tensor) -> torch.Tensor:
        return x.sum()

    assert opcheck(sums, (torch.ones(1, 3).expand(4, 3),), test_utils="test_schema")


def test_results_in_one_memory():
    @custom_op("test_op_checks::twice", mutates_args=())
    def twice(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        y = x.clone()
        return y, y.view(-1)

    twice.register_fake(lambda x: (torch.empty_like(x), torch.empty_like(x)))
    actual = failures(twice, torch.ones(2))
    assert "may not alias any inputs" in actual["test_schema"]
    assert opcheck(torch.ops.aten.chunk.default, (torch.ones(4), 2))


def test_an_empty_argument_that_is_returned():
    @custom_op("test_op_checks::itself", mutates_args=())
    def itself(x: torch.Tensor) -> torch.Tensor:
        return x

    actual = failures(itself, torch.empty(0))
    assert (
        "Argument x is not defined to alias output but was aliasing"
        in actual["test_schema"]
    )


def test_an_op_that_returns_nothing_needs_no_shapes():
    @custom_op("test_op_checks::adds_one", mutates_args=("x",))
    def adds_one(x: torch.Tensor) -> None:
        x.add_(1)

    assert opcheck(adds_one, (torch.ones(2),)) == dict.fromkeys(ALL, "SUCCESS")


def test_a_rule_is_registered_by_the_op_itself(double):
    class Mode(TorchDispatchMode):
        pass

    @double.register_torch_dispatch(Mode)
    def rule(mode, func, types, args, kwargs):
        return torch.zeros(1)

    x = torch.ones(1)
    with Mode():
        result = double(x)
    assert result.tolist() == [0] and double(x).tolist() == [2]
