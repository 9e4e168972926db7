"""Every sharding rule of every op, derived from its declaration: the op runs on shards,
and its combined results equal the whole result. So do its stages, where values are
combined inside.
"""

import itertools

import numpy
import pytest
from tools.op_samples import random_words, samples

from pellucid_compiler.declare import REGISTRY
from pellucid_compiler.declare.key import bind_arguments, specialise
from pellucid_compiler.declare.schema import parse_schema
from pellucid_compiler.ir.interpret import run
from pellucid_compiler.ir.traversal import symbols
from pellucid_compiler.specialise.answer import resolve
from pellucid_compiler.specialise.parts import (
    numbers_at,
    results_are_parts,
    with_parts,
)
from pellucid_compiler.specialise.requests import encode_argument
from pellucid_compiler.specialise.staged import staged
from pellucid_compiler.transforms.shard import plans
from pellucid_compiler.transforms.shard_rules import Joined, Split
from tests.declarations.refusals import NAMES

RANKS = 2


def floats(*shape):
    return numpy.random.default_rng(len(shape)).standard_normal(shape)


def whole_numbers(high, *shape):
    return numpy.random.default_rng(1).integers(0, high, shape)


MOST = 12  # sets of the operands' states to try

# Larger calls than the samples, in which more dims can be split.
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
    ("cumsum", floats(4, 3, 2), 1),
    ("cummax", floats(4, 3, 2), 2),
    ("sort", floats(4, 3, 2), 1, False),
    ("topk", floats(5, 4), 2),
    ("_fft_c2c", floats(4, 3, 2) + 0j, [1], 0, True),
    ("_linalg_svd", floats(4, 3, 2), False),
    ("pellucid::_linalg_inv", floats(4, 3, 3)),
    ("pellucid::_linalg_solve", floats(1, 3, 3), floats(4, 3, 2)),
    ("pellucid::_linalg_pinv", floats(4, 3, 2), numpy.full(4, 1e-9), False),
    (
        "pellucid::_lstm",
        floats(3, 4, 8),
        floats(4, 2),
        floats(4, 2),
        floats(8, 2),
        None,
        None,
        False,
    ),
]

COMBINES = {
    "sum": numpy.add,
    "prod": numpy.multiply,
    "max": numpy.maximum,
    "min": numpy.minimum,
    "and": numpy.logical_and,
    "or": numpy.logical_or,
}


def evaluated(op, args, words=()):
    call = op.specialise(*args)
    graph = op.trace(call.key, call.env).nominal
    return run(graph, [*call.tensors, *words], dict(call.env))


def part(x, state, rank):
    if state is None:
        return x
    if isinstance(state, Split):
        return numpy.array_split(x, chunk_ends(x.shape[state.dim]), state.dim)[rank]
    noise = 7 * numpy.random.default_rng(7).standard_normal(x.shape)
    noise = numpy.asarray(noise).astype(x.dtype)
    return noise if rank == 0 else numpy.asarray(x - noise)


def chunk_ends(size):
    """As torch.chunk: the last part may be smaller."""
    step = -(-size // RANKS)
    return [min(rank * step, size) for rank in range(1, RANKS)]


def joined(parts, state):
    if state is None:
        return parts[0]
    if isinstance(state, Split):
        return numpy.concatenate(parts, state.dim)
    return COMBINES[state.combine](*parts)


def states_of(x):
    states = [None, *(Split(d) for d in range(x.ndim) if x.shape[d] > 1)]
    return [*states, Joined("sum")] if x.dtype.kind in "fc" else states


def sets_to_try(states):
    """Sets of the operands' states: first those of one operand that is not whole."""
    some = itertools.islice(itertools.product(*states), 400)
    ordered = sorted(some, key=lambda s: sum(state is not None for state in s))
    return ordered[:MOST]


def calls_of(name):
    """Arguments of the op: its samples, and the larger calls."""
    drawn = [args for args, *_ in samples(name)]
    return [*drawn, *(list(args) for other, *args in CASES if other == name)]


def has_own_size(graph, env):
    """Whether sizes of results depend on values."""
    return {e.attr for v in graph.outputs for e in symbols(*v.shape)} - env.keys()


def check_plan(op, values, words, plan, whole):
    """The op on parts, with the numbers of parts, against the whole result."""
    call = op.specialise(*values)
    actual = []
    for rank in range(RANKS):
        states = iter(plan.needs)
        numbers = numbers_at([plan], call.env, [RANKS], [rank])

        def own_part(x, states=states, rank=rank):
            return part(x, next(states), rank)

        own = with_parts(op, values, own_part, numbers)
        rest = [part(x, state, rank) for x, state in zip(words, states, strict=True)]
        actual.append(evaluated(op, own, rest))
    for k, state in enumerate(plan.results):
        result = joined([parts[k] for parts in actual], state)
        numpy.testing.assert_allclose(result, whole[k], 1e-7, 1e-7, str(plan))


def check_call(op, args):
    """Every plan of a call; how many share its work."""
    call, values = op.specialise(*args), bind_arguments(op.schema, args, {})
    graph = op.trace(call.key, call.env).nominal
    words = random_words(graph, call)
    if has_own_size(graph, call.env):
        return 1
    whole = evaluated(op, args, words)
    free = range(len(call.tensors), len(graph.inputs))
    found = {}
    for states in sets_to_try(map(states_of, [*call.tensors, *words])):
        for plan in plans(graph, states, dict(call.env), RANKS, free):
            found.setdefault((plan.needs, plan.results), plan)
    num_shared = 0
    for plan in found.values():
        if results_are_parts(op, values, graph, call.env, [plan], [RANKS]):
            check_plan(op, values, words, plan, whole)
            num_shared += any(state is not None for state in plan.needs)
    return num_shared


# Ops of which processes share no work: they have no operands, or only windows, or no
# sample with a dim of examples.
WHOLE = """
view_as_complex_copy pellucid::_nms_kept zeros ones full scalar_tensor
pellucid::_linalg_cholesky
pellucid::_linalg_permutation _fft_c2r pellucid::_linalg_solve_triangular
linalg_ldl_solve adaptive_max_pool3d index_reduce diagonal_scatter
"""


@pytest.mark.parametrize("name", NAMES)
def test_parts_joined_are_the_whole(name):
    """Also of stages, between which values are combined."""
    op = REGISTRY[name]
    num_shared = sum(check_call(op, args) for args in calls_of(name))
    if not op.mutated:
        num_shared += sum(len(check_staged_call(op, args)) for args in calls_of(name))
    assert (num_shared == 0) == (name in WHOLE.split())


def stage_results(stage, values, rank):
    """The results of a stage's op on a rank, by the reference executor."""
    inputs = [values[number] for number in stage.inputs]
    sizes = []
    for size in stage.sizes:
        step = -(-size.extent // RANKS)
        first = min(rank * step, size.extent)
        count = min(step, size.extent - first)
        known = {"whole": size.extent, "part": count, "first": first}
        sizes.append(size.starts[rank] if size.starts else known[size.kind])
    inputs += [sizes] if sizes else []
    inputs += [list(stage.numbers)] if stage.numbers else []
    schema = parse_schema(stage.schema)
    pairs = zip(inputs, schema.arguments, strict=True)
    actual = resolve(stage.origin, [encode_argument(x, a) for x, a in pairs])
    call = specialise(schema, inputs, {})
    return map(numpy.asarray, run(actual.graph, call.tensors, call.env))


def check_stages(plan, arrays, whole):
    """The stages of a plan, with the combined values between them; how many elements
    the greatest of these has.
    """
    greatest = 0
    pairs = list(zip(arrays, plan.needs, strict=True))
    values = [
        dict(zip(plan.given, [part(x, s, rank) for x, s in pairs], strict=True))
        for rank in range(RANKS)
    ]
    for number, window in plan.windows.items():
        whole_rows = joined([known[number] for known in values], Split(window.dim))
        for known, ends in zip(values, window.ranges, strict=True):
            known[number] = whole_rows.take(range(*ends), window.dim)
            received = known[number].size - whole_rows.size / RANKS
            greatest = max(greatest, received)
    for stage in plan.stages:
        for number, combine in stage.joins:
            parts = [known[number] for known in values]
            total = numpy.asarray(joined(parts, Joined(combine)))
            greatest = max(greatest, total.size)
            for known in values:
                known[number] = total
        for rank, known in enumerate(values):
            outputs = stage_results(stage, known, rank)
            known.update(zip(stage.outputs, outputs, strict=True))
    for number, state, expected in zip(plan.outputs, plan.results, whole, strict=True):
        result = joined([known[number] for known in values], state)
        numpy.testing.assert_allclose(result, expected, 1e-7, 1e-7, str(plan.needs))
    return greatest


def check_staged_call(op, args):
    """Every choice of stages of a call; how many elements each combines at most."""
    call, values = op.specialise(*args), bind_arguments(op.schema, args, {})
    graph = op.trace(call.key, call.env).nominal
    if has_own_size(graph, call.env) or random_words(graph, call):
        return []
    whole, found = evaluated(op, args), {}
    splits = ([None, *map(Split, range(x.ndim))] for x in call.tensors)
    for states in sets_to_try(splits):
        for has_gradient in (False, True):
            plan = staged(op, values, states, RANKS, has_gradient)
            if plan is not None:
                found[plan.needs, has_gradient] = plan
    return [check_stages(plan, call.tensors, whole) for plan in found.values()]


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
    ("argmax", floats(6, 5), 0),
    ("argmin", numpy.array([[2.0, numpy.nan, 1, 1], [5, 5, numpy.nan, 0]]), 1),
    ("max.dim", floats(6, 5), 0),
    ("min.dim", whole_numbers(3, 6, 9), 1),
    ("conv2d", floats(2, 3, 7, 6), floats(4, 3, 3, 2), floats(4), [1, 1], [1, 0]),
    ("conv2d", floats(2, 3, 9, 6), floats(4, 3, 3, 3), None, [2, 1], [2, 1], [2, 1]),
    ("conv1d", floats(2, 3, 12), floats(4, 3, 5), None, [2]),
    ("max_pool2d", floats(2, 3, 9, 6), [3, 2], [2, 2], [1, 0]),
    ("avg_pool1d", floats(2, 3, 9), [2], [2], [1]),
]


@pytest.mark.parametrize("case", STAGED, ids=lambda case: case[0])
def test_stages_combine_little(case):
    name, *args = case
    op = REGISTRY[name]
    combined = check_staged_call(op, args)
    assert combined
    assert max(combined) < max(x.size for x in op.specialise(*args).tensors)


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
