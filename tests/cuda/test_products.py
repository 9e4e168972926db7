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
a, b, bias = torch.randn(132, 152), torch.randn(152, 140), torch.randn(140)
for x in (a, a.t().contiguous().t()):
    for y in (b, b.t().contiguous().t()):
        print(ran(torch.mm, x, y))
print(ran(torch.nn.functional.linear, a, b.t().contiguous(), bias))
print(ran(torch.bmm, torch.randn(3, 90, 100), torch.randn(3, 100, 112)))
print(ran(torch.mm, a.double(), b.double()))
print(ran(torch.mm, a[:20], b[:, :20]))  # too small
""")
    assert output.splitlines() == [
        *["(True, True, False)"] * 7,
        "(True, False, True)",
    ]


def test_the_library_can_be_turned_off():
    output = run("""
a = torch.randn(132, 152).to("cuda")
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
a = torch.randn(132, 152).to("cuda")
try:
    a @ a.t()
except RuntimeError as error:
    print(error)
""")
    assert "cuBLASLt: /nowhere.so" in output


def test_what_the_library_does_not_take_runs_on_the_own_schedule():
    output = run("""
a, b = torch.randn(136, 152), torch.randn(152, 144)
def library_ran(x, y, tolerance=1e-4):
    driver.log()
    found = x.to("cuda") @ y.to("cuda")
    ran = any(c.startswith("cuLaunchHostFunc") for c in driver.log())
    return ran, torch.allclose(found.cpu(), x @ y, rtol=tolerance, atol=tolerance)
print(library_ran(a, b))
print(library_ran(a.half(), b.half(), 0.1))  # CUBLAS_STATUS_NOT_SUPPORTED
print(library_ran(a, b[:, :143].contiguous()))  # rows of 572 bytes
there = torch.randn(136 * 152 + 1).to("cuda")[1:].view(136, 152)
driver.log()
there @ b.to("cuda")
print(any(c.startswith("cuLaunchHostFunc") for c in driver.log()))
""")
    assert output.splitlines() == [
        *("(True, True)", "(False, True)", "(False, True)", "False"),
    ]


def test_the_library_is_loaded_during_a_capture():
    output = run("""
a = torch.randn(136, 152).to("cuda")
g = torch.cuda.CUDAGraph()
torch.cuda.synchronize()
with torch.cuda.graph(g):
    y = a @ a.t()
g.replay()
print(torch.allclose(y.cpu(), a.cpu() @ a.cpu().t(), rtol=1e-4, atol=1e-4))
""")
    assert output.strip() == "True"
