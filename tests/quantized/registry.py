"""What every declared op does on quantized tensors: the op on their numbers, or a
refusal.

``python -m tests.quantized.registry`` writes ``registry.txt``: the ops that are
refused, and why.
"""

from functools import cache
from pathlib import Path

import pellucid as torch
from tests.sparse import registry
from tests.sparse.registry import REFUSALS

TABLE = Path(__file__).with_name("registry.txt")
SCALE, ZERO = 0.05, 70
names = registry.names


class Case(registry.Case):
    """A sample call of an op; the tensors at ``places`` are quantized."""

    def __init__(self, call, places):
        super().__init__(call, places)
        self.dense = [t.float() if t.dtype == torch.float64 else t for t in self.dense]

    def inputs(self, is_quantized):
        """The arguments: quantized, or their numbers."""
        made = list(self.dense)
        for k in self.places:
            made[k] = torch.quantize_per_tensor(made[k], SCALE, ZERO, torch.quint8)
            made[k] = made[k] if is_quantized else made[k].dequantize()
        return made


@cache
def cases(name):
    """Up to four calls with a quantized first tensor, or with all of its shape."""
    made = []
    for call in registry.native_calls(name):
        tensors = call.tensors()
        floats = [k for k, t in enumerate(tensors) if t.dtype == torch.float64]
        if not floats:
            continue
        shape = tensors[floats[0]].shape
        alike = [k for k in floats if tensors[k].shape == shape]
        for places in dict.fromkeys([tuple(alike), (floats[0],)]):
            case = Case(call, places)
            try:
                if case.run(case.inputs(False)):
                    made.append(case)
            except REFUSALS:
                continue
    return made


def outcome(name):
    """ "" if the op on quantized tensors is the op on numbers, else what it is."""
    actual = {outcome_of(case) for case in cases(name)}
    if not actual:
        return "no sample has floats"
    return registry.worst(actual)


def outcome_of(case):
    """The same of one call."""
    try:
        actual = case.run(case.inputs(True))
    except REFUSALS as e:
        return f"refused: {str(e).splitlines()[0]}"
    expected = case.run(case.inputs(False))
    same = len(actual) == len(expected) and all(map(_same, actual, expected))
    return "" if same else "differs"


def _same(actual, expected):
    """Equal, or the nearest integers in the scale of the result."""
    if actual.shape != expected.shape:
        return False
    if not actual.is_quantized:
        return actual.dtype == expected.dtype and torch.allclose(
            actual, expected, 1e-5, 1e-6, equal_nan=True
        )
    wanted = torch.quantize_per_tensor(
        expected, actual.q_scale(), actual.q_zero_point(), actual.dtype
    )
    gap = actual.int_repr().int() - wanted.int_repr().int()
    return bool((gap.abs() <= 1).all())  # the mean of integers is rounded by itself


def lines():
    """A line of ``registry.txt`` for each op that has one."""
    return [f"{name}: {what}" for name in names() if (what := outcome(name))]


if __name__ == "__main__":
    TABLE.write_text("\n".join(lines()) + "\n")
