"""Calls ``boxed.cpp``."""

LIBRARY = True


def run(torch, _):
    ops = torch.ops.boxed
    x = torch.ones(2, 3)
    print(ops.twice(x), ops.twice(x.to("meta")).device)
    print(ops.describe(x, 1, 2.5, True, "d", [1, 2], [x, x], None))
    print(ops.describe(x, 1, 2.5, False, "", [], [], 3))
    print(ops.call_by_name(x, "aten::neg"), ops.call_by_name(x, "boxed::twice"))
    print(ops.is_known("aten::relu"), ops.is_known("aten::nothing"))
    try:
        ops.call_by_name(x, "aten::nothing")
    except RuntimeError as error:
        print("aten::nothing" in str(error))
