"""Products by cuBLASLt, a stand-in of it: which ones it computes, and that they are
right."""

import functools

from tests.cuda.standin import HERE, compiled, run_program


@functools.cache
def library():
    return compiled(HERE / "standin_blas.cpp")


def run(text):
    return run_program(f"os.environ['PELLUCID_CUBLASLT'] = {str(library())!r}\n{text}")


def test_large_products_go_to_the_library_in_every_layout():
    output = run("""
def ran(call, *operands):
    there = [t.to("cuda") for t in operands]
    there = [u if t.is_contiguous() else t.t().contiguous().to("cuda").t()
             for t, u in zip(operands, there)]
    driver.log()
    found = call(*there)
    names = {line.split()[0] for line in driver.log()}
    right = torch.allclose(found.cpu(), call(*operands), rtol=1e-4, atol=1e-4)
    return right, "cuLaunchHostFunc" in names, "cuLaunchKernel" in names

torch.manual_seed(0)
a, b, bias = torch.randn(130, 150), torch.randn(150, 140), torch.randn(140)
for x in (a, a.t().contiguous().t()):
    for y in (b, b.t().contiguous().t()):
        print(ran(torch.mm, x, y))
print(ran(torch.nn.functional.linear, a, b.t().contiguous(), bias))
print(ran(torch.bmm, torch.randn(3, 90, 100), torch.randn(3, 100, 110)))
print(ran(torch.mm, a.double(), b.double()))
print(ran(torch.mm, a[:20], b[:, :20]))  # too small
""")
    assert output.splitlines() == [
        *["(True, True, False)"] * 7,
        "(True, False, True)",
    ]


def test_the_library_can_be_turned_off():
    output = run("""
a = torch.randn(130, 150).to("cuda")
def names():
    driver.log()
    a @ a.t()
    return {line.split()[0] for line in driver.log()} & {"cuLaunchHostFunc"}
print(bool(names()))
torch.use_deterministic_algorithms(True)
print(bool(names()))
torch.use_deterministic_algorithms(False)
print(bool(names()))
""")
    assert output.split() == ["True", "False", "True"]


def test_a_library_that_cannot_be_loaded_is_an_error():
    output = run_program("""
os.environ["PELLUCID_CUBLASLT"] = "/nowhere.so"
a = torch.randn(130, 150).to("cuda")
try:
    a @ a.t()
except RuntimeError as error:
    print(error)
""")
    assert "cuBLASLt: /nowhere.so" in output
