"""Attention on the emulated GPU: which steps run, in how much memory, and values."""

import json

from tests.devices.programs import run_program

PROGRAM = """
import json
import pellucid as torch
from pellucid.devices.check.training import MODELS
from pellucid.devices.emulated import Emulated
from pellucid.nn.functional import cross_entropy, scaled_dot_product_attention

torch.devices.register(Emulated(order=7))


def attend(device, queries, keys, grad, **options):
    given = queries, keys, keys.flip(-1)
    q, k, v = (t.detach().to(device).requires_grad_() for t in given)
    options = {n: o.to(device) if n == "attn_mask" else o for n, o in options.items()}
    result = scaled_dot_product_attention(q, k, v, **options)
    result.backward(grad.to(device))
    return [t.cpu().float() for t in (result.detach(), q.grad, k.grad, v.grad)]


def heads(*sizes):
    return torch.randn(*sizes, generator=torch.Generator().manual_seed(sum(sizes)))


long = heads(1, 1, 200, 8)
attend("emu", long[:, :, :3], long[:, :, :3], long[:, :, :3])
torch.emu.reset_peak_memory_stats()
held, fallbacks = torch.emu.memory_allocated(), torch.devices.counts("emu")["fallbacks"]
with torch.devices.trace() as log:
    found = attend("emu", long, long.flip(2), long, is_causal=True)
peak = torch.emu.max_memory_allocated() - held
fallbacks = torch.devices.counts("emu")["fallbacks"] - fallbacks
forms = [[e.op, e.form, e.outcome] for e in log if "attention" in e.op]

make, words = MODELS["a transformer"]
model = make().to("emu")
with torch.devices.trace() as log:
    labels = torch.zeros(1, dtype=torch.int64, device="emu")
    cross_entropy(model(words[:1].to("emu")), labels).backward()
step = [[e.op, e.form, e.outcome] for e in log]

many, keys, mask = heads(2, 4, 9, 16), heads(2, 2, 11, 16), heads(9, 11)
few = many[:, :2]
calls = {
    "groups of heads": (many, keys, many, dict(enable_gqa=True)),
    "bfloat16": (few.bfloat16(), keys.bfloat16(), few.bfloat16(), {}),
    "a scale and a mask": (few, keys, few, dict(scale=0.3, attn_mask=mask > 0)),
    "wide heads": (heads(1, 5, 130), heads(1, 4, 130), heads(1, 5, 130), {}),
}
furthest = {"a long head": 0.0}
expected = attend("cpu", long, long.flip(2), long, is_causal=True)
for a, b in zip(found, expected):
    furthest["a long head"] = max(furthest["a long head"], (a - b).abs().max().item())
ran = {}
for name, (q, k, g, options) in calls.items():
    with torch.devices.trace() as log:
        found = attend("emu", q, k, g, **options)
        pairs = zip(found, attend("cpu", q, k, g, **options))
        furthest[name] = max((a - b).abs().max().item() for a, b in pairs)
    ran[name] = sorted({e.form for e in log if e.form in ("block", "gemm")})
print(json.dumps([forms, fallbacks, peak, step, furthest, ran]))
"""


def test_attention_is_two_kernels_without_a_matrix_and_without_the_host():
    forms, fallbacks, peak, step, furthest, ran = json.loads(run_program(PROGRAM))
    launched = [form for _, form, outcome in forms if outcome == "launched"]
    assert fallbacks == 0
    assert launched.count("block") == 2
    assert not {"gemm", "rows", "map"} & set(launched)
    assert peak < 200 * 200 * 4 / 2
    of_model = [form for op, form, outcome in step if "attention" in op]
    assert of_model.count("block") == 2
    assert [outcome for *_, outcome in step if outcome != "launched"] == []
    wide = ran.pop("wide heads")
    assert wide == ["gemm"]
    assert all(forms == ["block"] for forms in ran.values()), ran
    assert furthest.pop("bfloat16") < 0.03
    assert max(furthest.values()) < 5e-6, furthest
