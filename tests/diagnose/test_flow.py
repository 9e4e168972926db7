"""Whether a later backward pass may go through gradients, by the program's text."""

import ast

import pytest

from pellucid.diagnose.flow import is_differentiated

CALL = "grads = autograd.grad(loss, params, create_graph=True)\n"
BACKWARD = "loss.backward(create_graph=True)\n"
UNREAD = {
    "an update without a graph": CALL
    + "with torch.no_grad():\n"
    + "    for p, g in zip(net.parameters(), grads):\n        p -= 0.01 * g",
    "an update of data": CALL + "for w, g in zip(ws, grads):\n    w.data -= g\n"
    "grad(f(w), w)",
    "a pass that does not read them": CALL + "loss.backward()\nprint(grads[0].norm())",
    "an optimizer": BACKWARD + "optimizer.step()",
    "another argument": CALL + "def use(a, b):\n    a.norm().backward()\nuse(x, grads)",
}
READ = {
    "a branch": CALL + "size = sum(g.sum() for g in grads)\n"
    "if size > 9:\n    (size + loss).backward()",
    "a later round": "for _ in range(3):\n    loss = f(w)\n"
    "    (g,) = grad(loss, w, create_graph=True)\n    w = w - g",
    "a result": "def f():\n    return grad(x, y, create_graph=True)\n"
    "def g():\n    f()[0].sum().backward()",
    "an attribute": "def f(self):\n    self.slope = grad(x, y, create_graph=True)\n"
    "def g(self):\n    self.slope.sum().backward()",
    "an argument": CALL + "def use(a, b):\n    b.norm().backward()\nuse(x, grads)",
    "a container": CALL + "kept.append(grads)\nhessian = autograd.grad(kept[0], w)",
    "a parameter's": BACKWARD + "hv = grad([p.grad for p in params], params, v)",
    "a closure": CALL + "closure = lambda: grads[0] + loss\nclosure().backward()",
}


def is_read(text):
    tree = ast.parse(text)
    (call,) = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and any(keyword.arg == "create_graph" for keyword in node.keywords)
    ]
    return is_differentiated([tree], call)


@pytest.mark.parametrize("name", UNREAD)
def test_what_no_pass_reads_needs_no_graph(name):
    assert not is_read(UNREAD[name])


@pytest.mark.parametrize("name", READ)
def test_gradients_are_followed_to_a_backward_pass(name):
    assert is_read(READ[name])
