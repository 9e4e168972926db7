"""Calls ``stable.cpp``."""


def run(torch, module):
    ops = torch.ops.extension_stable
    a, b = torch.arange(6.0).reshape(2, 3), torch.ones(2, 3)
    print(module.__name__, ops.mymuladd(a, b, 0.5), ops.mymuladd(a.t(), b.t(), 0))
    print(*ops.parts(a, None), ops.parts(a, 1)[1])
    for call in (
        lambda: ops.mymuladd(a.double(), b, 1),
        lambda: ops.mymuladd(a, b[1:], 1),
    ):
        try:
            call()
        except RuntimeError as error:
            print("expected" in str(error).lower())
