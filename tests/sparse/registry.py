"""What every declared op does on sparse tensors: the op on their dense forms, or a
refusal.

``python -m tests.sparse.registry`` writes ``registry.txt``: the ops that are not the op
on dense tensors where the result has a pattern, or have no gradient there, and why.
"""

from functools import cache
from pathlib import Path

import pellucid as torch
from pellucid.utils._pytree import tree_unflatten
from pellucid_compiler.declare import REGISTRY
from tests.func.catalogue import is_tensor, native_calls

TABLE = Path(__file__).with_name("registry.txt")
REFUSALS = (RuntimeError, ValueError)  # others are crashes, and fail the test
NO_SAMPLE = "no sample has a tensor with dims"


def names():
    """The ops with a tensor argument whose results can be compared."""
    return sorted(
        name
        for name, op in REGISTRY.items()
        if op.kind not in ("factory", "foreach", "random")
        and any(a.type.startswith("Tensor") for a in op.schema.arguments)
    )


class Case:
    """A sample call of an op; the tensors at ``places`` are sparse."""

    def __init__(self, call, places):
        self.call, self.places = call, places
        self.dense = [
            _thinned(t.detach(), k) if k in places else t.detach()
            for k, t in enumerate(call.tensors())
        ]

    def inputs(self, layout, requires_grad=False):
        """The arguments with sparse tensors of the layout, or dense for None."""
        made = []
        for k, tensor in enumerate(self.dense):
            if k in self.places and layout is not None:
                tensor = tensor.to_sparse(layout=layout)
            if requires_grad and k in self.places and tensor.is_floating_point():
                tensor = tensor.detach().requires_grad_()
            made.append(tensor)
        return made

    def has(self, layout):
        """Whether the tensors can have the layout: rows need two dims."""
        return layout is torch.sparse_coo or all(
            self.dense[k].dim() >= 2 for k in self.places
        )

    def run(self, tensors):
        leaves = list(self.call.leaves)
        for place, tensor in zip(self.call.places, tensors, strict=True):
            leaves[place] = tensor
        return _results(self.call.op(*tree_unflatten(leaves, self.call.spec)))


def _thinned(tensor, seed):
    """The tensor with zeros in the place of some elements."""
    flat = torch.arange(tensor.numel()).view(tensor.shape)
    return torch.where((flat + seed) % 3 == 1, torch.zeros_like(tensor), tensor)


def _results(actual):
    if is_tensor(actual):
        return [actual]
    flat = []
    for each in actual if isinstance(actual, list | tuple) else ():
        flat += _results(each) if each is not None else []
    return flat


@cache
def cases(name):
    """Up to two calls with a sparse first tensor, or with all of its shape sparse."""
    made = []
    for call in native_calls(name):
        tensors = call.tensors()
        first = next((k for k, t in enumerate(tensors) if t.dim()), None)
        if first is None:
            continue
        alike = [k for k, t in enumerate(tensors) if t.shape == tensors[first].shape]
        for places in dict.fromkeys([tuple(alike), (first,)]):
            case = Case(call, places)
            try:
                if case.run(case.inputs(None)):
                    made.append(case)
            except REFUSALS:
                continue
    return made


def outcome(name, layout=torch.sparse_coo):
    """ "" if the op on sparse tensors is the op on dense ones with gradients, else what
    it is.
    """
    some = [case for case in cases(name) if case.has(layout)]
    return worst({outcome_of(case, layout) for case in some}) if some else NO_SAMPLE


def worst(actual):
    """The outcome that is wrong, or else why some or all samples are refused."""
    wrong = [each for each in actual if each.startswith(("differs", "gradient"))]
    if wrong:
        return min(wrong)
    refused = min(actual - {""}, default="")
    return f"some {refused}" if refused and "" in actual else refused


def outcome_of(case, layout):
    """The same of one call."""
    try:
        actual = case.run(case.inputs(layout))
    except REFUSALS as e:
        return f"refused: {str(e).splitlines()[0]}"
    expected = case.run(case.inputs(None))
    if not _same(actual, expected):
        return "differs"
    try:
        return _gradients(case, layout)
    except REFUSALS as e:
        return f"no gradient: {str(e).splitlines()[0]}"


def _same(actual, expected):
    return len(actual) == len(expected) and all(
        a.shape == b.shape and a.dtype == b.dtype and _equal(a, b)
        for a, b in zip(actual, expected, strict=True)
    )


def _equal(actual, expected):
    """Equal where the result has positions; elsewhere it is 0."""
    if actual.layout is not torch.strided:
        actual = actual.detach()
        if actual.layout is torch.sparse_coo:
            actual = actual.coalesce()
        ones = actual.clone()
        ones.values().fill_(1)
        mask = ones.to_dense().bool()
        actual = actual.to_dense()
        if not torch.equal(expected.bool() | mask, mask):
            return False
    return torch.allclose(actual, expected, 1e-5, 1e-7, equal_nan=True)


def _total(results):
    """A number that depends on each element of the results, of their floats."""
    total = 0
    for k, each in enumerate(results):
        if each.requires_grad:
            dense = each if each.layout is torch.strided else each.to_dense()
            flat = torch.view_as_real(dense) if dense.is_complex() else dense
            weights = torch.linspace(1, 2 + k, flat.numel(), dtype=flat.dtype)
            total = total + (flat * weights.view(flat.shape)).sum()
    return total


def _gradients(case, layout):
    dense, some = case.inputs(None, True), case.inputs(layout, True)
    expected, actual = _total(case.run(dense)), _total(case.run(some))
    if not is_tensor(expected):
        return "no gradient"
    leaves = [t for t in dense if t.requires_grad], [t for t in some if t.requires_grad]
    first = torch.autograd.grad(expected, leaves[0], materialize_grads=True)
    if not is_tensor(actual):  # no element depends on the leaves
        return "gradient is missing" if any(each.any() for each in first) else ""
    second = torch.autograd.grad(actual, leaves[1], materialize_grads=True)
    same = (
        _masked_same(s, f, leaf)
        for s, f, leaf in zip(second, first, leaves[1], strict=True)
    )
    return "" if all(same) else "gradient differs"


def _masked_same(actual, expected, leaf):
    """Gradients are those of the dense elements at the leaf's positions."""
    mask = leaf.detach().to_dense() != 0
    dense = actual if actual.layout is torch.strided else actual.to_dense()
    return torch.allclose(dense[mask], expected[mask], 1e-5, 1e-7, equal_nan=True)


def lines():
    """A line of ``registry.txt`` for each op that has one."""
    return [f"{name}: {what}" for name in names() if (what := outcome(name))]


if __name__ == "__main__":
    TABLE.write_text("\n".join(lines()) + "\n")
