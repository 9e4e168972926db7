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
        self.name, self.op, self.call = name, REGISTRY[name], call
        self.places, self.axis, self.lengths = places, axis, lengths
        tensors = call.tensors()
        self.rest = [t.detach() for t in tensors]
        self.examples = [
            [tensors[k].detach().narrow(axis, 0, n) for n in lengths] for k in places
        ]

    def arguments(self, tensors, shift=0):
        """The call's arguments with other tensors, dims counted ``shift`` further."""
        leaves, inputs = list(self.call.leaves), iter(tensors)
        for place in self.call.places:
            leaves[place] = next(inputs)
        args = list(tree_unflatten(leaves, self.call.spec))
        for k, argument in enumerate(self.op.schema.arguments[: len(args)]):
            if shift and argument.name in _DIMS:
                args[k] = _shifted(args[k], shift)
        return args

    def names_no_dims(self):
        """Whether it takes all elements, as a reduction without dims does."""
        args = self.arguments(self.rest)
        names = [a.name for a in self.op.schema.arguments[: len(args)]]
        dims = [v for n, v in zip(names, args, strict=True) if n in _DIMS]
        tags = self.overload().tags
        return torch.Tag.reduction in tags and all(d in (None, [], ()) for d in dims)

    def overload(self):
        namespace, _, name = self.name.rpartition("::")
        packet, _, which = name.partition(".")
        ops = getattr(torch.ops, namespace or "aten")
        return getattr(getattr(ops, packet), which or "default")

    def on_whole(self, values):
        """The results of the op on all elements, as if of one example."""
        tensors = list(self.rest)
        for place, each in zip(self.places, values, strict=True):
            tensors[place] = each
        return self.run(tensors)

    def of_dtype(self, dtype):
        """The same call of another dtype."""
        same = Case.__new__(Case)
        same.__dict__.update(self.__dict__)
        same.rest = [t.to(dtype) if t.is_floating_point() else t for t in self.rest]
        same.examples = [
            [t.to(dtype) if t.is_floating_point() else t for t in each]
            for each in self.examples
        ]
        return same

    def values(self):
        return [torch.cat(each, self.axis) for each in self.examples]

    def offsets(self):
        return torch.tensor([0, *self.lengths]).cumsum(0)

    def run(self, tensors, shift=0):
        actual = self.call.op(*self.arguments(tensors, shift))
        return _results(actual)

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


def _results(actual):
    if is_tensor(actual):
        return [actual]
    flat = []
    for each in actual if isinstance(actual, list | tuple) else ():
        flat += _results(each) if each is not None else []
    return flat


@cache
def cases(name):
    """Up to two calls with examples of several lengths, of which the op takes each."""
    actual = []
    for call in native_calls(name):
        case = _case(name, call)
        if case is not None:
            actual.append(case)
    return actual


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
    """ "" if the op on jagged tensors is the op on each example with gradients, else
    what it is.
    """
    actual = {outcome_of(case) for case in cases(name)}
    if not actual:
        return "no sample has two examples"
    wrong = [each for each in actual if each.startswith(("differs", "gradient"))]
    return min(wrong or actual, key=lambda each: (bool(each), each))


def outcome_of(case):
    """The same of one call."""
    try:
        actual = case.on_nested(case.values(), case.offsets())
    except (NotImplementedError, RuntimeError, IndexError, ValueError, TypeError) as e:
        return f"refused: {str(e).splitlines()[0]}"
    if case.op.kind == "random":
        return "random"
    try:
        return differs(case, actual) or _gradients(case)
    except NotImplementedError:  # the op has no derivative
        return "no gradient"


def differs(case, actual):
    """ "differs" unless the results are those of the examples."""
    if case.names_no_dims():
        expected = [[each] for each in case.on_whole(case.values())]
        actual = [each.unsqueeze(0) for each in actual]
    else:
        expected = list(zip(*case.on_examples(case.examples), strict=True))
    is_same = len(actual) == len(expected) and all(map(_same, actual, expected))
    return "" if is_same else "differs"


def _same(actual, expected):
    pieces = actual.unbind() if actual.is_nested or actual.dim() else ()
    return len(pieces) == len(expected) and all(
        a.shape == b.shape
        and a.dtype == b.dtype
        and torch.allclose(a, b, 1e-5, 1e-7, equal_nan=True)
        for a, b in zip(pieces, expected, strict=True)
    )


def _weighted(results):
    """A number that depends on each element of the results, of their floats."""
    total = 0
    for k, each in enumerate(results):
        if each.requires_grad:
            flat = torch.view_as_real(each) if each.is_complex() else each
            weights = torch.linspace(1, 2 + k, flat.numel(), dtype=flat.dtype)
            total = total + (flat.nan_to_num() * weights.view(flat.shape)).sum()
    return total


def _gradients(case):
    inputs = case.values()
    values = [v.clone().requires_grad_(v.is_floating_point()) for v in inputs]
    leaves = [v for v in values if v.requires_grad]
    if case.names_no_dims():
        rows = [case.on_whole(values)]
    else:
        pieces = [v.split(list(case.lengths), case.axis) for v in values]
        rows = case.on_examples(pieces)
    expected = sum(map(_weighted, rows))
    if not is_tensor(expected):
        return "no gradient"
    actual = case.on_nested(values, case.offsets())
    if not case.names_no_dims():
        actual = zip(*(each.unbind() for each in actual), strict=True)
    total = sum(map(_weighted, [actual] if case.names_no_dims() else actual))
    if not is_tensor(total):
        return "gradient is missing"
    first = torch.autograd.grad(expected, leaves, materialize_grads=True)
    second = torch.autograd.grad(total, leaves, materialize_grads=True)
    same = (
        torch.allclose(a, b, 1e-7, 1e-9, equal_nan=True)
        for a, b in zip(first, second, strict=True)
    )
    return "" if all(same) else "gradient differs"


def lines():
    """A line of ``registry.txt`` for each op that has one."""
    return [f"{name}: {what}" for name in names() if (what := outcome(name))]


if __name__ == "__main__":
    TABLE.write_text("\n".join(lines()) + "\n")
