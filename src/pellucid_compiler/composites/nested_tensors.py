"""Nested tensors converted to dense ones. Implemented in ``pellucid/nested/_ops``."""

from pellucid_compiler.composites import composite, framework_module


@composite(
    "to_padded_tensor(Tensor self, float padding, SymInt[]? output_size=None) "
    "-> Tensor",
    out=True,
    function=False,
    seen=True,
    takes_parts=True,
)
def to_padded_tensor(x, padding, output_size):
    """A dense tensor of the examples, padded with ``padding``.

    ``output_size``: its sizes, at least those of the largest example.
    NotImplementedError for a tensor that is not nested.
    """
    return framework_module("nested._ops.methods").to_padded(x, padding, output_size)


@composite(
    "nested_to_padded_tensor(Tensor self, float padding, int[]? output_size=None) "
    "-> Tensor",
    method=False,
    function=False,
    takes_parts=True,
)
def nested_to_padded_tensor(x, padding, output_size):
    """``to_padded_tensor``."""
    return x.to_padded_tensor(padding, output_size)
