"""The backward pass runs where the forward ops ran, and the caller waits for it."""

from tests.cuda.standin import run_program


def test_a_node_runs_on_the_stream_of_its_forward_op():
    output = run_program("""
def streams_of(call):
    driver.log()
    result = call()
    return result, [c.split()[-1] for c in driver.log() if c.startswith("cuLaunchK")]

x = torch.ones(4, device="cuda", requires_grad=True)
(x.exp().sin() * 2).sum().backward()  # compiles the kernels
x.grad = None
side = torch.cuda.Stream()
handle = hex(side.cuda_stream)
side.wait_stream(torch.cuda.current_stream())
with side:
    y, forward = streams_of(lambda: x.exp().sin())
torch.cuda.current_stream().wait_stream(side)
loss, _ = streams_of(lambda: (y * 2).sum())
_, backward = streams_of(loss.backward)
print(set(forward) == {handle}, backward.count(handle) >= 2, handle != backward[0])
print(torch.cuda.current_stream().stream_id)
expected = torch.ones(4, requires_grad=True)
(expected.exp().sin() * 2).sum().backward()
print(torch.equal(x.grad.cpu(), expected.grad), driver.faults)
""")
    assert output.splitlines() == ["True True True", "0", "True []"]


def test_a_pass_called_on_another_stream_leaves_its_result_there():
    output = run_program("""
x = torch.arange(4.0).to("cuda").requires_grad_()
loss = (x.exp() * 3).sum()
side = torch.cuda.Stream()
side.wait_stream(torch.cuda.current_stream())
with side:
    (grad,) = torch.autograd.grad(loss, x)
    print(torch.cuda.current_stream() == side)
    print(torch.allclose(grad.cpu(), 3 * torch.arange(4.0).exp()))
""")
    assert output.splitlines() == ["True", "True"]


def test_streams_of_a_pass_wait_for_its_end():
    output = run_program("""
x = torch.ones(4, device="cuda", requires_grad=True)
side = torch.cuda.Stream()
side.wait_stream(torch.cuda.current_stream())
with side:
    y = x.exp()
torch.cuda.current_stream().wait_stream(side)
loss = (y * 2).sum()
driver.log()
loss.backward()
calls = [c.split() for c in driver.log()]
last = max(k for k, call in enumerate(calls) if call[0] == "cuLaunchKernel")
waiting = {c[1] for c in calls[last:] if c[0] == "cuStreamWaitEvent"}
print(hex(side.cuda_stream) in waiting, len(waiting))
""")
    assert output.split() == ["True", "2"]
