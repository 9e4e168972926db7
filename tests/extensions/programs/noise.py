"""Calls ``noise.cpp``."""


def run(torch, module):
    x = torch.ones(6)
    torch.manual_seed(3)
    print(module.drop(x), module.drop(x, 0.2))
    generator = torch.Generator().manual_seed(5)
    print(module.drop(x, 0.25, generator), torch.rand(2, generator=generator))
    print(
        torch.ops.noise.drop(x, 0.5, generator=generator), torch.ops.noise.drop(x, 0.5)
    )
    print(torch.ops.noise.drop.default._schema)
    for result in (*module.draws(generator), *module.draws()):
        print(result)
    print(module.words(generator, 5), torch.rand(1, generator=generator))
    print(module.seeded(11), torch.initial_seed())
    try:
        module.drop(x, 2)
    except RuntimeError as error:
        print(str(error).splitlines()[0])
