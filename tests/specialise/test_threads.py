"""Threads trace, derive and lower at once, each its own trace; a key has one result."""

import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import pellucid_compiler.catalogue  # noqa: F401 - fills the registry
from pellucid_compiler.abi.encode import encode
from pellucid_compiler.abi.plan import encode_plan
from pellucid_compiler.declare.key import TensorKey
from pellucid_compiler.declare.op import REGISTRY
from pellucid_compiler.declare.tracing import (
    Questions,
    default_dtype,
    tracer,
    tracing,
    with_default_dtype,
)
from pellucid_compiler.ir.bounded import Bounded
from pellucid_compiler.ir.expr import Expr, make, sym
from pellucid_compiler.ir.graph import Graph
from pellucid_compiler.specialise.derivative_answer import encode_derivative
from pellucid_compiler.specialise.derivatives import derive
from pellucid_compiler.specialise.graphs import declared_graph
from pellucid_compiler.specialise.requests import TensorLike

THREADS = 4
TRACED_BY = ("relu", "exp", "sin", "cos")  # an op for each
ROWS = TensorLike("float32", (6, 5))
COLUMNS = TensorLike("float64", (2, 5, 6))
WEIGHT = TensorLike("float32", (5,))
IMAGES = TensorLike("float32", (2, 3, 8, 8))
LABELS = TensorLike("int64", (6,))
CALLS: dict[str, tuple[Any, ...]] = {
    "layer_norm": (ROWS, [5], WEIGHT, WEIGHT, 1e-5),
    "cross_entropy_loss": (ROWS, LABELS),
    "_softmax": (COLUMNS, 1, False),
    "avg_pool2d": (IMAGES, [3, 3], [2, 2], [1, 1]),
    "cumsum": (COLUMNS, 2),
    "tril": (COLUMNS, 1),
    "cat": ([ROWS, ROWS], 1),
    "var.correction": (COLUMNS, [1]),
}


@pytest.fixture(autouse=True)
def short_turns() -> Iterator[None]:
    """Threads give way to each other after a few instructions."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(usual)


def together(work: Callable[[int], Any]) -> list[Any]:
    """What ``work(k)`` gives on each of the threads, which begin at one moment."""
    barrier = threading.Barrier(THREADS)
    results: list[Any] = [None] * THREADS
    errors: list[BaseException] = []

    def run(number: int) -> None:
        barrier.wait()
        try:
            results[number] = work(number)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(k,)) for k in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return results


def traced_anew(name: str) -> tuple[bytes, bytes]:
    """The encoded plan of a call and its derivative, as if met for the first time."""
    op = declared_graph(REGISTRY[name], CALLS[name])
    derived = derive(op, 1)
    plan = encode_plan(op.lower().plan)
    return plan, encode(encode_derivative(op, derived, {}))


def forget_traces() -> None:
    for name in CALLS:
        REGISTRY[name].traces = Bounded(8)


def test_threads_trace_different_ops_at_once() -> None:
    forget_traces()
    names = list(CALLS)
    expected = {name: traced_anew(name) for name in names}
    forget_traces()

    def work(number: int) -> dict[str, tuple[bytes, bytes]]:
        ordered = names[2 * number :] + names[: 2 * number]
        return {name: traced_anew(name) for name in ordered}

    assert together(work) == [expected] * THREADS


def test_threads_that_trace_one_key_at_once_get_one_graph() -> None:
    op = REGISTRY["layer_norm"]
    call = op.specialise(*CALLS["layer_norm"])
    for _ in range(5):
        op.traces = Bounded(8)
        graphs = together(lambda _: op.trace(call.key, call.env).nominal)
        assert len({id(graph) for graph in graphs}) == 1


def test_threads_build_one_expression_of_the_same_parts() -> None:
    def chain(_: int) -> list[Expr]:
        actual = [sym("threads.first", "float32")]
        for k in range(300):
            actual.append(make("mul", actual[-1], sym(f"threads.{k}", "float32")))
        return actual

    for _ in range(10):
        first, *others = together(chain)
        for other in others:
            assert all(a is b for a, b in zip(first, other, strict=True))
        del first, others, other  # the next round interns them again


def test_threads_that_trace_the_elements_of_one_key_get_one_graph() -> None:
    op = REGISTRY["silu"]
    for _ in range(5):
        op.elements = Bounded(8)
        graphs = together(lambda _: op.element_graph((TensorKey("float32", 0),)))
        assert len({id(graph) for graph in graphs}) == 1


def test_a_trace_is_the_thread_s_own() -> None:
    def work(number: int) -> list[str]:
        with pytest.raises(RuntimeError, match="while an op is traced only"):
            tracer()
        with tracing(Graph(str(number)), Questions({})), with_default_dtype("float64"):
            op = REGISTRY[TRACED_BY[number]]
            op.elements = Bounded(8)
            op.element_graph((TensorKey("float32", 0),))
            return [tracer().graph.name, default_dtype()]

    with tracing(Graph("outer"), Questions({})):
        assert together(work) == [[str(k), "float64"] for k in range(THREADS)]
        assert (tracer().graph.name, default_dtype()) == ("outer", "float32")


def test_a_cache_that_threads_share_stays_bounded() -> None:
    actual: Bounded[int, int] = Bounded(4)

    def work(number: int) -> None:
        for k in range(2_000):
            assert actual.setdefault(k % 7, k % 7) == k % 7
            actual.put((k + number) % 7, (k + number) % 7)
            assert actual.get(k % 7) in (None, k % 7)

    together(work)
    assert len(actual) <= 4
