"""Calls the extension ``kernels``."""

import tempfile
import warnings
from pathlib import Path

import numpy


def run(torch, module):
    ops = torch.ops.kernels
    x = torch.linspace(-2, 2, 24).reshape(2, 3, 4)
    views = [x, x.permute(2, 0, 1), x[:, ::2], x.double(), x[:, :, :1].expand(2, 3, 5)]
    want = [torch.nn.functional.mish(v) for v in views]
    print(
        [
            torch.allclose(ops.soft_gate(v), w, atol=1e-6)
            for v, w in zip(views, want, strict=True)
        ],
        ops.soft_gate(views[1]).stride(),
    )
    out = torch.empty(0)
    module.hypotenuse(torch.tensor([[3], [6]]), torch.tensor([4, 8]), out)
    print(out.tolist(), out.dtype)
    wide = torch.empty(2, 2, dtype=torch.float64)
    module.hypotenuse(torch.tensor([[3.0], [6.0]]), torch.tensor([4, 8]), wide)
    print(wide.tolist())
    plus, minus = ops.split_sign(x[0, :, 1:])
    print(torch.equal(plus + minus, x[0, :, 1:]), minus.max().item())
    print(f"{ops.dot(torch.arange(19.0), torch.ones(19)):g}", module.lanes())
    tags = [
        sorted(str(tag) for tag in op.tags)
        for op in (ops.split_sign.default, ops.dot.default)
    ]
    print(tags, module.count_by_threads(100000))

    print(module.moving_mean(numpy.arange(5)), module.moving_mean([1, 2, 4], width=3))
    print(module.shared(numpy.eye(2, dtype=numpy.float32)))
    print(module.owned(6).tolist(), module.doubled(numpy.ones(2)))
    empty = module.doubled(numpy.empty((0, 2)))
    print(module.doubled(3), empty.shape, empty.dtype)
    print(module.elements(numpy.arange(4.0).reshape(2, 2)))
    given = numpy.arange(6)
    print(module.backwards(given), module.backwards(given.astype("f8")[::-1]))
    given = numpy.arange(6.0)
    given.flags.writeable = False
    print(module.backwards(given).flags.writeable)
    values = [numpy.zeros(2), numpy.zeros(2, "f4"), numpy.arange(2), True, 2.5, x[0, 0]]
    print([module.kind(value) for value in values])
    doubles = module.Doubles([1, 2])
    doubles.extend(doubles)
    print(module.scale(doubles, module.Tensors([x])), list(doubles))
    ones = torch.ones(4)
    module.plus_one(ones, ones, True)
    module.plus_one(ones[1:], ones[:-1], False)
    print(ones, module.halved(torch.arange(20).bfloat16()).sum().item())
    print(module.printed())
    with tempfile.TemporaryDirectory() as folder:
        print(module.through_a_file(x[0, 0], str(Path(folder, "x.pt"))))
    print(module.by_name(x[0, 0], x[0, 1]))
    for kind in range(23):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                module.check(kind, x)
        except Exception as error:
            text = str(error).splitlines()[0][:60]
            print(kind, type(error).__name__, len(str(error).splitlines()) <= 10, text)
