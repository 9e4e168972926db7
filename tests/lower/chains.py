"""Long chains of blocks, as captured models are: Graphs for the tests of growth."""

import pellucid_compiler.catalogue  # noqa: F401 - fills the registry
from pellucid_compiler.declare.op import REGISTRY
from pellucid_compiler.declare.tensor import Tensor
from pellucid_compiler.declare.tracing import Questions, tracing
from pellucid_compiler.ir.expr import sym
from pellucid_compiler.ir.graph import Graph
from pellucid_compiler.ir.verify import verify


def chain(block, length, num_vectors=0):
    """``length`` blocks, each with a tensor, its own weight and ``num_vectors``
    vectors that all blocks share.
    """
    graph = Graph("chain")
    rows, columns = sym("x.0"), sym("x.1")
    hints = {"x.0": 8, "x.1": 16}
    with tracing(graph, Questions(hints)):
        value = Tensor(graph.input([rows, columns], "float32", "x"))
        vectors = [
            Tensor(graph.input([columns], "float32", f"v{k}"))
            for k in range(num_vectors)
        ]
        for k in range(length):
            weight = graph.input([columns, columns], "float32", f"w{k}")
            value = block(value, Tensor(weight), *vectors)
        graph.outputs = [value.value]
    return verify(graph.prune())


def product_block(x, weight):
    """mm, relu, softmax."""
    product = REGISTRY["relu"](REGISTRY["mm"](x, weight))
    return REGISTRY["softmax.int"](product, -1, None)


def residual_block(x, weight, scale, shift):
    """A normalised, activated product added to its input."""
    (columns,) = scale.shape
    y = REGISTRY["layer_norm"](x, [columns], scale, shift, 1e-5)
    return x + REGISTRY["gelu"](REGISTRY["mm"](y, weight), "none")


def layer_block(x, weight):
    """mm, relu."""
    return REGISTRY["relu"](REGISTRY["mm"](x, weight))


def pointwise_block(x, weight):
    """An elementwise op, which fuses with its neighbours: the weight is not read."""
    return REGISTRY["tanh"](x)
