"""Products of a quantized model that this machine computes slower than in float32."""

from __future__ import annotations

from pellucid.diagnose.findings import Finding, Replay
from pellucid.diagnose.recording import Computation
from pellucid.diagnose.verdict import Facts

_SHARE = 0.2
_OP = "_int_mm"
_QUANTIZES = r"\b(quantize_dynamic|quantize_|convert|convert_fx)\("
_SETUP = """
linear = torch.nn.Linear({inputs}, {outputs})
model = torch.nn.Sequential(linear)
quantized = torch.ao.quantization.quantize_dynamic(
    model, {{torch.nn.Linear}}, dtype=torch.qint8
)
x = torch.randn({rows}, {inputs})
torch.set_grad_enabled(False)
"""


def find(facts: Facts) -> list[Finding]:
    """The line that quantizes, if the replayed layer is slower than the original."""
    items = [item for item in facts.items if item.name == _OP and item.line]
    lines = {(i.line.file, i.line.number) for i in items if i.line is not None}
    share = facts.share_of(sum(facts.lines[place].total for place in lines))
    if not items or share < _SHARE:
        return []
    largest = max(items, key=lambda item: item.total)
    for file, number, _ in facts.matching(_QUANTIZES):
        return [
            Finding.at(
                file,
                number,
                kind="compute",
                evidence=f"{share:.0%} of the time: {sum(i.calls for i in items)} "
                "products of int8, with their conversions",
                fix="leave these layers in float32: they are faster on this machine",
                share=share,
                replay=_replay(largest),
            )
        ]
    return []


def _replay(item: Computation) -> Replay:
    (rows, inputs), (_, outputs) = (tensor.shape for tensor in item.arguments[:2])
    setup = _SETUP.format(rows=rows, inputs=inputs, outputs=outputs)
    return Replay(setup, "quantized(x)", "model(x)")
