"""Every sharding rule derived from declarations: results of shards, combined, equal the
whole result.
"""

import itertools

import numpy
import pytest

from pellucid_compiler import catalogue  # noqa: F401 - fills the registry
from pellucid_compiler.declare import REGISTRY
from pellucid_compiler.declare.key import bind_arguments, specialise
from pellucid_compiler.declare.schema import parse_schema
from pellucid_compiler.ir.interpret import run
from pellucid_compiler.specialise.answer import resolve
from pellucid_compiler.specialise.requests import encode_argument
from pellucid_compiler.specialise.staged import staged
from pellucid_compiler.transforms.shard import plans
from pellucid_compiler.transforms.shard_rules import Joined, Split

RANKS = 2


def floats(*shape):
    return numpy.random.default_rng(len(shape)).standard_normal(shape)


def whole_numbers(high, *shape):
    return numpy.random.default_rng(1).integers(0, high, shape)


CASES = [
    ("add.Tensor", floats(6, 4), floats(4)),
    ("mul.Tensor", floats(6, 1), floats(6, 4)),
    ("where.self", floats(6, 4) > 0, floats(6, 4), floats(4)),
    ("sum.dim_IntList", floats(6, 4), [1]),
    ("mean.dim", floats(6, 4), [0]),
    ("amax", floats(6, 4), [1]),
    ("prod.dim_int", floats(6, 4), 0),
    ("argmax", floats(6, 4), 0),
    ("matmul", floats(2, 6, 4), floats(4, 8)),
    ("bmm", floats(2, 6, 4), floats(2, 4, 8)),
    ("linear", floats(6, 4), floats(8, 4), floats(8)),
    ("conv2d", floats(2, 4, 8, 8), floats(6, 4, 3, 3), floats(6), [1, 1], [1, 1]),
    ("softmax.int", floats(6, 8), 1),
    ("layer_norm", floats(6, 4, 8), [8], floats(8), floats(8)),
    ("cross_entropy_loss", floats(6, 8), whole_numbers(8, 6)),
    ("scaled_dot_product_attention", *[floats(2, 2, 4, 6)] * 3),
    ("embedding", floats(10, 4), whole_numbers(10, 4, 2)),
    ("gather", floats(6, 4), 1, whole_numbers(4, 6, 2)),
    ("index_select", floats(6, 4), 0, whole_numbers(6, 8)),
    ("cat", [floats(6, 4), floats(2, 4)], 0),
    ("permute", floats(6, 4, 2), [2, 0, 1]),
    ("slice.Tensor", floats(6, 4), 0, 1, 5),
    ("expand", floats(6, 1), [6, 4]),
    ("view", floats(2, 6, 8), [2, 6, 4, 2]),
    ("view", floats(4, 6, 8), [24, 8]),
    ("view", floats(4, 6, 8), [-1, 2, 12]),
    ("flip", floats(6, 4), [0]),
    ("triu", floats(6, 6)),
    ("cumsum", floats(6, 4), 1),
    ("zeros_like", floats(6, 4)),
    ("outer", floats(6), floats(4)),
    ("max_pool2d", floats(2, 4, 8, 8), [2, 2]),
]

COMBINES = {
    "sum": numpy.add,
    "prod": numpy.multiply,
    "max": numpy.maximum,
    "min": numpy.minimum,
    "and": numpy.logical_and,
    "or": numpy.logical_or,
}


def evaluated(op, args):
    call = op.specialise(*args)
    return run(op.trace(call.key, call.env).nominal, call.tensors, call.env)


def part(x, state, rank):
    if state is None:
        return x
    if isinstance(state, Split):
        return numpy.array_split(x, RANKS, state.dim)[rank]
    noise = numpy.random.default_rng(7).standard_normal(x.shape)
    return noise if rank == 0 else x - noise


def joined(parts, state):
    if state is None:
        return parts[0]
    if isinstance(state, Split):
        return numpy.concatenate(parts, state.dim)
    return COMBINES[state.combine](*parts)


def with_numbers(op, args, numbers):
    """The arguments with the sizes of shards."""
    names = [argument.name for argument in op.schema.arguments]
    args = [list(a) if isinstance(a, list) else a for a in args]
    for number, size in numbers.items():
        name, _, element = number.partition("[")
        if element:
            args[names.index(name)][int(element[:-1])] = size
        else:
            args[names.index(name)] = size
    return args


def with_arrays(args, arrays):
    inputs = iter(arrays)

    def replaced(x):
        if isinstance(x, list):
            return [replaced(y) for y in x]
        return next(inputs) if isinstance(x, numpy.ndarray) else x

    return [replaced(x) for x in args]


def states_of(x):
    states = [None, *(Split(d) for d in range(x.ndim) if x.shape[d] > 1)]
    return [*states, Joined("sum")] if x.dtype.kind == "f" else states


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_parts_joined_are_the_whole(case):
    name, *args = case
    op = REGISTRY[name]
    call = op.specialise(*args)
    graph = op.trace(call.key, call.env).nominal
    env = dict(call.env)
    whole = evaluated(op, args)
    tried = set()
    for inputs in itertools.product(*map(states_of, call.tensors)):
        for plan in plans(graph, inputs, env, RANKS):
            if (plan.needs, plan.results) in tried:
                continue
            tried.add((plan.needs, plan.results))
            actual = []
            for rank in range(RANKS):
                pairs = zip(call.tensors, plan.needs, strict=True)
                arrays = [part(x, state, rank) for x, state in pairs]
                own = with_numbers(op, with_arrays(args, arrays), plan.numbers)
                actual.append(evaluated(op, own))
            for k, state in enumerate(plan.results):
                result = joined([parts[k] for parts in actual], state)
                numpy.testing.assert_allclose(result, whole[k], 1e-9, 1e-9, str(plan))
    assert tried


STAGED = [
    ("softmax.int", floats(6, 5), 1),
    ("log_softmax.int", floats(6, 4), 1),
    ("logsumexp", floats(6, 4), [1]),
    ("mean.dim", floats(6, 4), [1]),
    ("layer_norm", floats(6, 4, 7), [7], floats(7), floats(7)),
    ("cross_entropy_loss", floats(6, 9), whole_numbers(9, 6)),
    ("scaled_dot_product_attention", *[floats(2, 2, 5, 6)] * 3, None, 0.0, True),
    ("embedding", floats(9, 4), whole_numbers(9, 4, 2)),
    ("gather", floats(6, 4), 1, whole_numbers(4, 6, 2)),
    ("triu", floats(6, 5)),
]


def stage_results(stage, values, rank):
    """The results of a stage's op on a rank, by the reference executor."""
    inputs = [values[number] for number in stage.inputs]
    sizes = []
    for size in stage.sizes:
        step = -(-size.extent // RANKS)
        first = min(rank * step, size.extent)
        count = min(step, size.extent - first)
        sizes.append({"whole": size.extent, "part": count, "first": first}[size.kind])
    inputs += [sizes] if sizes else []
    inputs += [list(stage.numbers)] if stage.numbers else []
    schema = parse_schema(stage.schema)
    pairs = zip(inputs, schema.arguments, strict=True)
    actual = resolve(stage.origin, [encode_argument(x, a) for x, a in pairs])
    call = specialise(schema, inputs, {})
    return map(numpy.asarray, run(actual.graph, call.tensors, call.env))


@pytest.mark.parametrize("case", STAGED, ids=lambda case: case[0])
def test_stages_joined_are_the_whole_and_little_is_combined(case):
    name, *args = case
    op = REGISTRY[name]
    whole, arrays = evaluated(op, args), op.specialise(*args).tensors
    bound = bind_arguments(op.schema, args, {})
    tried = 0
    for inputs in itertools.product(
        *([None, *map(Split, range(x.ndim))] for x in arrays)
    ):
        plan = staged(op, bound, inputs, RANKS, has_gradient=True)
        if plan is None:
            continue
        tried += 1
        values = [
            dict(zip(plan.given, [part(x, s, rank) for x, s in
                                   zip(arrays, plan.needs, strict=True)], strict=True))
            for rank in range(RANKS)
        ]  # fmt: skip
        for stage in plan.stages:
            for number, combine in stage.joins:
                total = numpy.asarray(
                    joined([known[number] for known in values], Joined(combine))
                )
                assert total.size < max(x.size for x in arrays)
                for known in values:
                    known[number] = total
            for rank, known in enumerate(values):
                outputs = stage_results(stage, known, rank)
                known.update(zip(stage.outputs, outputs, strict=True))
        for number, state, expected in zip(
            plan.outputs, plan.results, whole, strict=True
        ):
            result = joined([known[number] for known in values], state)
            numpy.testing.assert_allclose(result, expected, 1e-9, 1e-9, str(inputs))
    assert tried


@pytest.mark.parametrize(
    ("name", "args", "placements", "needs", "result"),
    [
        ("linear", (floats(6, 4), floats(8, 4), floats(8)),
         [Split(1), Split(1), None], [Split(1), Split(1), Joined("sum")],
         Joined("sum")),
        ("linear", (floats(6, 4), floats(8, 4), floats(8)),
         [None, Split(0), Split(0)], [None, Split(0), Split(0)], Split(1)),
        ("softmax.int", (floats(6, 8), 1), [Split(0)], [Split(0)], Split(0)),
        ("softmax.int", (floats(6, 8), 1), [Split(1)], [None], None),
        ("view", (floats(2, 6, 8), [12, 8]), [Split(1)], [None], None),
        # Of too many operands to try each set of them.
        ("stack", ([floats(4)] * 40,), [Joined("sum")] * 40, [Joined("sum")] * 40,
         Joined("sum")),
    ],
)  # fmt: skip
def test_the_cheapest_plan_is_that_of_tensor_parallelism(
    name, args, placements, needs, result
):
    op = REGISTRY[name]
    call = op.specialise(*args)
    graph = op.trace(call.key, call.env).nominal
    actual = plans(graph, placements, call.env, RANKS)
    assert (needs, result) in [(list(p.needs), p.results[0]) for p in actual
                               if p.cost == actual[0].cost]  # fmt: skip
