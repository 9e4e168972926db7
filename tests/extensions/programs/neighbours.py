"""Calls ``neighbours.cpp``."""


def run(torch, module):
    ops = torch.ops.neighbours
    rowptr = torch.tensor([0, 2, 3, 5, 6])
    col = torch.tensor([1, 2, 3, 0, 3, 1])
    samples, edges, counts = ops.sample(rowptr, col, torch.tensor([2]), 2)
    print(samples, edges, counts)
    print(ops.sample.default._schema)
    print(ops.degrees({"a": rowptr, "b": rowptr[:3]}))
    print(ops.degrees.default._schema)
    print(ops.halve([rowptr, col.float()], [2.0, 0.5]), ops.halve.default._schema)
    x = torch.tensor([[0.0, 1.0], [2.0, 2.0], [-1.0, 0.5]])
    y = torch.tensor([[1.5, 1.5], [-1.0, -1.0], [0.0, 0.75]])
    for dtype in (torch.float, torch.double, torch.half, torch.bfloat16):
        print(module.nearest(x.to(dtype), y.to(dtype)))
    print(module.nearest(x, y, torch.tensor([True, False, True])))
    print(module.nearest(x, y=y.t().contiguous().t(), mask=None))
    torch.manual_seed(0)
    many, few = torch.rand(2000, 3, dtype=torch.double), torch.rand(50, 3).double()
    expected = torch.cdist(many, few).argmin(1)
    print(bool((module.nearest(few, many) == expected).all()))
    for result in module.indexed(torch.arange(6.0).reshape(2, 3)):
        print(result)
    print(module.owned(6), module.owned(6).stride(), module.threads(True))
    try:
        ops.sample(rowptr.int(), col, torch.tensor([2]), 2)
    except RuntimeError as error:
        print(str(error).splitlines()[0])
