"""What every declared op does on jagged tensors: the op on each example, or a refusal.

``python -m tests.nested.registry`` writes ``registry.txt``: the ops that are not the op
on each example, or have no gradient there, and why.
"""

from functools import cache
from pathlib import Path

import pellucid as torch
from pellucid.nested._ops.mapping import _DIMS
from pellucid.utils._pytree import tree_unflatten
from pellucid_compiler.declare import REGISTRY
from tests.func.catalogue import is_tensor, native_calls

TABLE = Path(__file__).with_name("registry.txt")
# Of an example's dim with n elements: examples with fewer, and with none.
CUTS = (
    lambda n: (n, n - 1, 0),
    lambda n: (n, n - 1),
    lambda n: (n, n),
)
RANDOM = ("random", "factory")


def names():
    """The ops with a tensor argument whose results can be compared."""
    return sorted(
        name
        for name, op in REGISTRY.items()
        if op.kind not in ("factory", "foreach")
        and any(a.type.startswith("Tensor") for a in op.schema.arguments)
    )


class Case:
    """A sample call of an op with arguments that are ragged in one dim."""

    def __init__(self, name, call, places, axis, lengths):
        self.op, self.call = REGISTRY[name], call
        self.places, self.axis, self.lengths = places, axis, lengths
        tensors = call.tensors()
        self.rest = [t.detach() for t in tensors]
        self.examples = [
            [tensors[k].detach().narrow(axis, 0, n) for n in lengths] for k in places
        ]

    def arguments(self, tensors, shift=0):
        """The call's arguments with other tensors, dims counted ``shift`` further."""
        leaves, given = list(self.call.leaves), iter(tensors)
        for place in self.call.places:
            leaves[place] = next(given)
        args = list(tree_unflatten(leaves, self.call.spec))
        for k, argument in enumerate(self.op.schema.arguments[: len(args)]):
            if shift and argument.name in _DIMS:
                args[k] = _shifted(args[k], shift)
        return args

    def run(self, tensors, shift=0):
        found = self.call.op(*self.arguments(tensors, shift))
        return _results(found)

    def on_examples(self, examples):
        """The results of each example."""
        rows = []
        for row in zip(*examples, strict=True):
            tensors = list(self.rest)
            for place, tensor in zip(self.places, row, strict=True):
                tensors[place] = tensor
            rows.append(self.run(tensors))
        return rows

    def on_nested(self, values, offsets):
        """The results of the op on jagged tensors of the values."""
        tensors = list(self.rest)
        for place, each in zip(self.places, values, strict=True):
            tensors[place] = torch.nested.nested_tensor_from_jagged(
                each, offsets, jagged_dim=self.axis + 1
            )
        return self.run(tensors, shift=1)


def _shifted(value, shift):
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int):
        return value + shift if value >= 0 else value
    if isinstance(value, list | tuple) and all(isinstance(v, int) for v in value):
        return [_shifted(each, shift) for each in value]
    return value


def _results(found):
    if is_tensor(found):
        return [found]
    flat = []
    for each in found if isinstance(found, list | tuple) else ():
        flat += _results(each) if each is not None else []
    return flat


@cache
def cases(name):
    """Up to two calls with examples of several lengths, of which the op takes each."""
    found = []
    for call in native_calls(name):
        case = _case(name, call)
        if case is not None:
            found.append(case)
    return found


def _case(name, call):
    tensors = call.tensors()
    first = next((k for k, t in enumerate(tensors) if t.dim()), None)
    if first is None:
        return None
    shape = tensors[first].shape
    alike = [k for k, t in enumerate(tensors) if t.shape == shape]
    for cut in CUTS:
        for axis in range(len(shape)):
            if shape[axis] < 2:
                continue
            for places in (alike, [first]):
                case = Case(name, call, places, axis, cut(shape[axis]))
                try:
                    results = case.on_examples(case.examples)
                except (RuntimeError, IndexError, ValueError, TypeError):
                    continue
                if results[0]:
                    return case
    return None


def outcome(name):
    """"" if the op on jagged tensors is the op on each example with gradients, else
    what it is.
    """
    found = {_outcome(case, name) for case in cases(name)}
    if not found:
        return "no sample whose examples differ"
    return min(found, key=lambda each: (bool(each), each))


def _outcome(case, name):
    offsets = torch.tensor([0, *case.lengths]).cumsum(0)
    values = [torch.cat(each, case.axis) for each in case.examples]
    try:
        found = case.on_nested(values, offsets)
    except (NotImplementedError, RuntimeError, IndexError, ValueError, TypeError) as e:
        return f"refused: {str(e).splitlines()[0][:90]}"
    if REGISTRY[name].kind == "random":
        return "random"
    expected = case.on_examples(case.examples)
    if len(found) != len(expected[0]):
        return "differs: other results"
    for k, each in enumerate(found):
        if not _same(each, [row[k] for row in expected]):
            return "differs"
    return _gradients(case, values, offsets)


def _same(found, expected):
    pieces = found.unbind() if found.is_nested or found.dim() else None
    if pieces is None or len(pieces) != len(expected):
        return False
    return all(
        a.shape == b.shape
        and a.dtype == b.dtype
        and torch.allclose(a.double(), b.double(), 1e-9, 1e-9, equal_nan=True)
        if not b.is_complex()
        else torch.allclose(a, b, equal_nan=True)
        for a, b in zip(pieces, expected, strict=True)
    )


def _weighted(results):
    total = 0
    for k, each in enumerate(results):
        if each.requires_grad and each.is_floating_point():
            weights = torch.linspace(1, 2 + k, each.numel(), dtype=each.dtype)
            total = total + (each.nan_to_num() * weights.view(each.shape)).sum()
    return total


def _gradients(case, values, offsets):
    floats = [k for k, v in enumerate(values) if v.is_floating_point()]
    values = [v.clone().requires_grad_(v.is_floating_point()) for v in values]
    leaves = [values[k] for k in floats]
    rows = case.on_examples([v.split(list(case.lengths), case.axis) for v in values])
    expected = [_weighted(row) for row in rows]
    expected = sum(e for e in expected if is_tensor(e))
    if not is_tensor(expected):
        return "no gradient"
    found = case.on_nested(values, offsets)
    columns = [each.unbind() for each in found]
    total = sum(t for t in map(_weighted, zip(*columns, strict=True)) if is_tensor(t))
    if not is_tensor(total):
        return "gradient is missing"
    first = torch.autograd.grad(expected, leaves, allow_unused=True)
    second = torch.autograd.grad(total, leaves, allow_unused=True)
    for a, b in zip(first, second, strict=True):
        if (a is None) != (b is None):
            a, b = (torch.zeros_like(leaves[0]) if g is None else g for g in (a, b))
        if a is not None and not torch.allclose(a, b, 1e-7, 1e-9, equal_nan=True):
            return "gradient differs"
    return ""


def lines():
    """A line of ``registry.txt`` for each op that has one."""
    return [f"{name}: {what}" for name in names() if (what := outcome(name))]


if __name__ == "__main__":
    TABLE.write_text("\n".join(lines()) + "\n")
