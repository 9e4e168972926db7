"""Graphs of elements: what pointwise, random and foreach kernels compute."""

import numpy as np
import pytest
from tools.op_samples import calls

import pellucid_compiler.catalogue  # noqa: F401 - fills the registry
from pellucid_compiler import transforms
from pellucid_compiler.declare import REGISTRY
from pellucid_compiler.ir.elements import element_bodies
from pellucid_compiler.ir.interpret import run, run_elements

POINTWISE = [name for name, op in REGISTRY.items() if op.kind == "pointwise"]


@pytest.mark.parametrize("name", POINTWISE)
def test_graph_of_elements_gives_what_the_graph_gives(name):
    op = REGISTRY[name]
    for call, _, args, outputs in calls(name):
        elements = op.element_graph(call.key)
        got = run_elements(element_bodies(elements), args, call.env)
        for g, want in zip(got, outputs, strict=True):
            np.testing.assert_array_equal(g, want)
            assert g.dtype == want.dtype


def moving(actual):
    """The operands of a sample call that have a gradient of the first result's
    shape.
    """
    _, _, args, outputs = actual
    if outputs[0].dtype.kind != "f":
        return []
    shape = outputs[0].shape
    return [k for k, a in enumerate(args) if a.dtype.kind == "f" and a.shape == shape]


DIFFERENTIABLE = [name for name in POINTWISE if moving(calls(name)[0])]


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_gradient_of_elements_gives_what_the_graph_gives(name):
    op = REGISTRY[name]
    for actual in calls(name)[:1]:
        call, traced, args, outputs = actual
        elements, wrt = op.element_graph(call.key), moving(actual)
        random = np.random.default_rng(3)
        grads = [
            random.standard_normal(o.shape) for o in outputs if o.dtype.kind == "f"
        ]
        bodies = element_bodies(transforms.backward(elements, wrt))
        got = run_elements(bodies, [*args, *outputs, *grads], call.env)
        back = transforms.backward(traced.graph, wrt)
        want = run(back, [*args, *outputs, *grads], call.env)
        for g, w in zip(got, want, strict=True):
            np.testing.assert_allclose(g, w, rtol=1e-12, atol=1e-300)


def stream(seed, count):
    """32-bit words of mt19937, as PyTorch's CPU generator seeds it."""
    words = np.random.RandomState(seed).randint(0, 2**32, count, dtype=np.uint64)
    return words.astype("uint32").view("int32")


def test_dropout_draws_two_words_an_element():
    op = REGISTRY["native_dropout"]
    x = np.linspace(1, 2, 10, dtype="float32")
    call = op.specialise(x, 0.3, True)
    elements = op.element_graph(call.key)
    words = stream(123, 20).reshape(10, 2)
    operands = [x, words[:, 0], words[:, 1]]
    y, mask = run_elements(element_bodies(elements), operands, call.env)
    # torch.manual_seed(123); torch.nn.functional.dropout(torch.ones(10), 0.3)
    assert mask.tolist() == [True] * 8 + [False, True]
    np.testing.assert_array_equal(y, x * (mask * (np.float32(1) / np.float32(0.7))))


def test_dropout_gradient_saves_the_mask_alone():
    op = REGISTRY["native_dropout"]
    call = op.specialise(np.ones(3, "float32"), 0.3, True)
    back = transforms.backward(op.element_graph(call.key), [0])
    num_words = 2
    mask, gradient = 1 + num_words + 1, 1 + num_words + 2
    assert back.used_inputs() == [mask, gradient]


def step(name, arrays, numbers, **statics):
    """The new values of the mutated arguments of a foreach op, for one tensor each."""
    op = REGISTRY[name]
    lists = [[] if a is None else [a] for a in arrays]
    call = op.specialise(*lists, **numbers, **statics)
    bodies = element_bodies(op.element_graph(call.key))
    env = {**numbers, "state_steps": 3.0}
    operands = [
        a
        for a, argument in zip(arrays, op.schema.arguments, strict=False)
        if a is not None and argument.name not in op.options.numbers
    ]
    return run_elements(bodies, operands, env)


def test_sgd_step_with_nesterov_momentum():
    w, g, m = (np.random.default_rng(k).standard_normal(5) for k in range(3))
    numbers = {"weight_decay": 0.1, "momentum": 0.9, "lr": 0.01, "dampening": 0.0}
    flags = {"nesterov": True, "maximize": False, "is_first_step": False}
    new, _, buffer = step("_fused_sgd_", [w, g, m], numbers, **flags)
    d = g + 0.1 * w
    want = 0.9 * m + d
    np.testing.assert_allclose(buffer, want)
    np.testing.assert_allclose(new, w - 0.01 * (d + 0.9 * want))


@pytest.mark.parametrize(
    "name,decoupled", [("_fused_adam_", False), ("_fused_adamw_", True)]
)
def test_adam_step(name, decoupled):
    w, g, m = (np.random.default_rng(k).standard_normal(5) for k in range(3))
    v, count = np.abs(m) + 0.1, np.asarray(3.0)
    numbers = {
        "lr": 0.01,
        "beta1": 0.9,
        "beta2": 0.99,
        "weight_decay": 0.1,
        "eps": 1e-8,
    }
    arrays = [w, g, m, v, None, count]
    new, _, first, second = step(name, arrays, numbers, amsgrad=False, maximize=False)
    if decoupled:
        w = w * (1 - 0.01 * 0.1)
    else:
        g = g + 0.1 * w
    want_first, want_second = 0.9 * m + 0.1 * g, 0.99 * v + 0.01 * g * g
    np.testing.assert_allclose(first, want_first)
    np.testing.assert_allclose(second, want_second)
    spread = np.sqrt(want_second / (1 - 0.99**3)) + 1e-8
    np.testing.assert_allclose(new, w - 0.01 * want_first / (1 - 0.9**3) / spread)


def test_gradients_of_gradients_read_results_and_gradients():
    op = REGISTRY["tanh"]
    call = op.specialise(np.ones(3))
    first = transforms.backward(op.element_graph(call.key), [0])
    result, gradient = 1, 2
    assert first.used_inputs() == [result, gradient]
    second = transforms.backward(first, [result, gradient])
    y, grad, again = map(np.asarray, (0.5, 2.0, 3.0))
    operands = [np.asarray(0.0), y, grad, np.asarray(0.0), again]
    by_output, by_grad = run_elements(element_bodies(second), operands)
    assert by_output == -2 * y * grad * again
    assert by_grad == (1 - y * y) * again
