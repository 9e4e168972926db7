"""Calls ``halves.cpp``."""


def run(torch, module):
    x = torch.linspace(-3, 3, 6).reshape(2, 3)
    for dtype in (torch.float, torch.double, torch.half, torch.bfloat16):
        print(module.swish_forward(x.to(dtype)))
    kinds = (torch.half, torch.bfloat16, torch.bool, torch.uint8, torch.int64)
    kinds += (torch.float, torch.double, torch.complex64, torch.complex128)
    for dtype in kinds:
        print(module.row_sums(x.abs().to(dtype)))
    z = torch.complex(x, x.flip(1))
    print(module.rotate(z, 0.5), module.rotate(z.to(torch.complex128), 0.5))
    for macro in range(10):
        names = []
        for dtype in (*kinds, torch.int32, torch.int16, torch.int8):
            try:
                names.append(module.accepted(torch.zeros(1, dtype=dtype), macro))
            except Exception as error:
                names.append(type(error).__name__ + str(error).splitlines()[0])
        print(macro, names)
    print(round(module.numbers(), 9))
