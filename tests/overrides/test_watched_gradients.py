"""Watching changes no gradient: what derivatives decompose into, on samples of each op.

The ops are those whose declarations say what modes see of their gradients, and those
of elements, whose traced derivatives are taken apart.
"""

import itertools
from contextlib import ExitStack
from types import SimpleNamespace

import pytest
from tests.func.catalogue import native_calls

import pellucid as torch
from pellucid import nn
from pellucid._decomp import derivatives
from pellucid._decomp.registry import declared
from pellucid.profiler import profile
from pellucid.utils._python_dispatch import BaseTorchDispatchMode, TorchDispatchMode
from pellucid.utils._pytree import tree_flatten, tree_unflatten
from pellucid.utils.flop_counter import FlopCounterMode
from pellucid_compiler.declare import REGISTRY

F = nn.functional
SEEN = torch._C._seen_ops()
RULES = [name for name, (*_, has_rules) in SEEN.items() if has_rules]
COMPLEX = [
    *RULES,
    *("add.Tensor", "mul.Tensor", "div.Tensor", "neg", "exp", "log", "sin"),
]
NAMES = list(dict.fromkeys([*RULES, *SEEN]))
OF_ELEMENTS = [
    name
    for name, op in REGISTRY.items()
    if op.kind == "pointwise" and not op.options.rare and name not in NAMES
]
KINDS = ("view", "reduction", "fused", "loop", "contraction", "join", "library", "scan")
NAMES += OF_ELEMENTS
NAMES += [n for n, op in REGISTRY.items() if op.kind in KINDS and n not in NAMES]
CASES = [
    *((name, torch.float64) for name in NAMES),
    *((name, torch.complex128) for name in COMPLEX),
    *((name, torch.bfloat16) for name in [*OF_ELEMENTS, "layer_norm"]),
]
FACTORS = {"alpha": (1, 0, 0.5), "beta": (1, 0, 0.5), "value": (1, 0.5)}
SUMMED = {"reduce": ("sum",)}
REFUSALS = (RuntimeError, NotImplementedError)


def forms(name, choices=FACTORS):
    """(function of the tensors, tensors): an op's samples with each choice of its
    factors.
    """
    declared = REGISTRY[name].schema.arguments
    names = [a.name for a in declared]
    numbers = [a.name for a in declared if "Tensor" not in a.type]
    factors = [f for f in choices if f in numbers]
    for call in native_calls(name):
        for chosen in itertools.product(*(choices[f] for f in factors)):
            args = tree_unflatten(list(call.leaves), call.spec)
            args = [*args, *(a.default for a in declared[len(args) :])]
            for factor, value in zip(factors, chosen, strict=True):
                args[names.index(factor)] = value
            yield filled(call, args), call.tensors()


def filled(call, args):
    leaves, spec = tree_flatten(args)
    places = [k for k, v in enumerate(leaves) if isinstance(v, torch.Tensor)]

    def run(*tensors):
        inputs = list(leaves)
        for place, tensor in zip(places, tensors, strict=True):
            inputs[place] = tensor
        return call.op(*tree_unflatten(inputs, spec))

    return run


def choices(tensors, dtype):
    """Leaves of which all, or one alone, want gradients."""
    for wanted in {(True,) * len(tensors), *alone(len(tensors))}:
        result = [t.to(dtype) if t.is_floating_point() else t for t in tensors]
        if dtype.is_complex:
            result = [t + 0.3j * t.sin() if t.is_complex() else t for t in result]
        yield [
            t.detach().requires_grad_(w and (t.is_floating_point() or t.is_complex()))
            for t, w in zip(result, wanted, strict=True)
        ]


def alone(count):
    return [tuple(k == place for k in range(count)) for place in range(count)]


def gradients(function, leaves):
    result = function(*leaves)
    if not isinstance(result, torch.Tensor):
        result = result[0]  # of values and places
    cotangent = torch.linspace(0.5, 1, result.numel()).reshape(result.shape)
    cotangent = cotangent.to(result.dtype)
    if result.is_complex():
        cotangent = cotangent * (1 - 0.7j)
    wanted = [t for t in leaves if t.requires_grad]
    return torch.autograd.grad(result, wanted, cotangent, allow_unused=True)


@pytest.mark.parametrize(("name", "dtype"), CASES)
def test_gradients_are_those_of_the_plain_call(name, dtype):
    compared = 0
    # The mean and deviation that the gradient op reads are of the half dtype.
    tolerance = 0.02 if name == "layer_norm" and dtype == torch.bfloat16 else 1e-8
    for function, tensors in forms(name):
        for leaves in choices(tensors, dtype):
            try:
                plain = gradients(function, leaves)
            except (*REFUSALS, TypeError, IndexError) as refusal:
                # no such dtype, or nothing to differentiate
                for watch in (BaseTorchDispatchMode, profile):
                    with watch(), pytest.raises(type(refusal)):
                        gradients(function, leaves)
                continue
            with BaseTorchDispatchMode():
                watched = gradients(function, leaves)
            with profile():
                profiled = gradients(function, leaves)
            for p, w, q in zip(plain, watched, profiled, strict=True):
                assert (p is None) == (w is None) == (q is None)
                if p is not None:
                    torch.testing.assert_close(
                        w, p, rtol=tolerance, atol=tolerance, equal_nan=True
                    )
                    torch.testing.assert_close(q, p, rtol=0, atol=0, equal_nan=True)
            compared += 1
    assert compared or dtype.is_complex or name not in RULES


class Names(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.seen = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.seen.append(func.name())
        return func(*args, **(kwargs or {}))


FURTHER_CALLS = {
    "index.Tensor": (lambda x: x[x > 0], torch.arange(6.0)),  # by a mask
    "narrow": (lambda x: torch.narrow_copy(x, 0, 1, 2), torch.ones(4)),
}
RULES_BY_ARGUMENT = [
    (name, argument) for name in RULES for argument in REGISTRY[name].seen.gradients
]


@pytest.mark.parametrize(("name", "argument"), RULES_BY_ARGUMENT)
def test_a_declared_gradient_is_seen_otherwise_than_the_derived_one(
    name, argument, monkeypatch
):
    """A rule is there for names that the derivative does not show; it is a formula
    written twice if it shows the same.
    """
    op = REGISTRY[name]
    rules = {a: rule for a, rule in op.seen.gradients.items() if a != argument}
    without = SimpleNamespace(seen=op.seen._replace(gradients=rules))

    def without_it(other):
        return without if other == name else declared(other)

    def seen(function, leaves, find):
        monkeypatch.setattr(derivatives, "declared", find)
        with Names() as names:
            gradients(function, leaves)
        return names.seen

    def differs(function, leaves):
        try:
            shown = seen(function, leaves, declared)
        except (*REFUSALS, TypeError, IndexError):
            return False  # no such dtype, or nothing to differentiate
        return shown != seen(function, leaves, without_it)

    calls = list(forms(name, FACTORS | SUMMED))
    if name in FURTHER_CALLS:
        function, tensor = FURTHER_CALLS[name]
        calls.append((function, [tensor]))
    assert any(
        differs(function, leaves)
        for function, tensors in calls
        for inputs in (
            tensors,
            [t.double() for t in tensors],
        )  # targets are numbers too
        for leaves in choices(inputs, torch.float64)
    )


@pytest.mark.parametrize("watch", [BaseTorchDispatchMode, profile])
def test_the_approximate_gelu_of_complex_numbers(watch):
    x = torch.tensor([1 + 1j, -0.5 + 0.2j], requires_grad=True)
    (plain,) = gradients(lambda x: F.gelu(x, approximate="tanh"), [x])
    with watch():
        (watched,) = gradients(lambda x: F.gelu(x, approximate="tanh"), [x])
    torch.testing.assert_close(watched, plain)


@pytest.mark.parametrize(
    "function", [lambda x: (x * 1j).abs(), lambda x: (x**1j).real], ids=["mul", "pow"]
)
def test_watched_gradients_by_complex_numbers(function):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    (plain,) = gradients(function, [x])
    with BaseTorchDispatchMode():
        (watched,) = gradients(function, [x])
    torch.testing.assert_close(watched, plain)


@pytest.mark.parametrize(
    "watch", [BaseTorchDispatchMode, profile, lambda: FlopCounterMode(display=False)]
)
def test_a_summand_that_is_not_read(watch):
    summand = torch.ones(3, requires_grad=True)
    with watch():
        product = torch.addmm(summand, torch.ones(2, 2), torch.ones(2, 3), beta=0)
        (actual,) = torch.autograd.grad(product.sum(), summand)
    assert actual.tolist() == [0, 0, 0]


def matrix(*shape):
    return torch.randn(*shape, dtype=torch.float64)


WITHOUT_A_GRADIENT_OP = {
    "batch_norm": lambda x: F.batch_norm(x, None, None, training=True),
    "prelu": lambda x: F.prelu(x, x[0]),
    "std_mean": lambda x: sum(torch.std_mean(x, 1)),
    "aminmax": lambda x: sum(torch.aminmax(x, dim=1)),
    "norm": lambda x: torch.linalg.vector_norm(x, 3, 1),
    "narrow_copy": lambda x: torch.narrow_copy(x, 0, 1, 2),
    "scatter_reduce": lambda x: x[0].scatter_reduce(
        0, torch.tensor([0, 1, 1]), x[1], "mean"
    ),
    "segment_reduce": lambda x: torch.segment_reduce(
        x[0], "sum", lengths=torch.tensor([1, 2])
    ),
    "i0": torch.i0,
    "logcumsumexp": lambda x: x.logcumsumexp(0),
    "solve": lambda x: torch.linalg.solve(x + 3 * torch.eye(3), x),
    "triangle": lambda x: torch.linalg.solve_triangular(
        x + 3 * torch.eye(3), x, upper=True
    ),
    "matrix_exp": torch.linalg.matrix_exp,
    "rnn": lambda x: nn.RNN(3, 2).double()(x)[0],
    "lstm": lambda x: nn.LSTM(3, 2).double()(x)[0],
    "gru": lambda x: nn.GRU(3, 2).double()(x)[0],
    "cumprod": lambda x: x.cumprod(0),
    "cholesky": lambda x: torch.linalg.cholesky(x @ x.T + torch.eye(3)),
    "eigvalsh": lambda x: torch.linalg.eigvalsh(x + x.T),
    "svdvals": torch.linalg.svdvals,
    "qr": lambda x: sum(torch.linalg.qr(x)),
    "slogdet": lambda x: torch.linalg.slogdet(x)[1],
    "lstsq": lambda x: torch.linalg.lstsq(x + 3 * torch.eye(3), x).solution,
    "msort": torch.msort,
    "product": lambda x: x[0].scatter_reduce(0, torch.tensor([0, 1, 1]), x[1], "prod"),
    "greatest": lambda x: x[0].index_reduce(0, torch.tensor([0, 1, 1]), x[1], "amax"),
    "average": lambda x: F.adaptive_avg_pool1d(x[None], 2),
}


@pytest.mark.parametrize("name", WITHOUT_A_GRADIENT_OP)
def test_modes_see_ops_of_tensors_where_no_gradient_op_has_a_name(name):
    x = matrix(3, 3).requires_grad_()
    with Names() as names:
        WITHOUT_A_GRADIENT_OP[name](x).sum().backward()
    assert x.grad is not None and len(names.seen) > 3
    assert not [n for n in names.seen if not n.startswith(("aten::", "pellucid::"))]


def test_modes_see_the_gradient_of_a_solution_as_a_solution_and_a_product():
    a, b = matrix(3, 3) + 3 * torch.eye(3), matrix(3, 2)
    with Names() as names:
        torch.linalg.solve(a.requires_grad_(), b).sum().backward()
    computing = [n for n in names.seen if n != "aten::transpose.int"]
    assert computing[-3:] == ["pellucid::_linalg_solve", "aten::mm", "aten::neg"]


def test_profiled_gradients_are_the_same_bits():
    torch.manual_seed(0)
    x = torch.randn(3, 4, requires_grad=True)
    layer = nn.Linear(4, 5)

    def step():
        loss = F.gelu(layer(x)).log_softmax(-1).var()
        return torch.autograd.grad(loss, [x, *layer.parameters()])

    plain = step()
    with profile() as profiler:
        profiled = step()
    assert all(map(torch.equal, plain, profiled))
    names = {event.name for event in profiler.events()}
    assert {"aten::linear", "aten::gelu_backward"} <= names


@pytest.mark.parametrize("counts_first", [True, False])
def test_a_mode_under_a_profiler_sees_the_products(counts_first):
    x, weight = torch.ones(2, 3, requires_grad=True), torch.ones(4, 3)
    counter = FlopCounterMode(display=False)
    with ExitStack() as stack:
        for mode in (counter, profile()) if counts_first else (profile(), counter):
            stack.enter_context(mode)
        F.linear(x, weight).sum().backward()
    assert counter.get_total_flops() == 2 * (2 * 2 * 3 * 4)


def test_gelu_backward_knows_two_forms():
    x = torch.ones(2)
    with pytest.raises(RuntimeError, match="tanh"):
        torch.ops.aten.gelu_backward(x, x, approximate="x")
