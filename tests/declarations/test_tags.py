"""PyTorch's tags of op overloads: derived from a declaration, or stated in it."""

import pytest

import pellucid as torch
from pellucid_compiler.declare.schema import parse_schema
from pellucid_compiler.declare.tags import Known

# PyTorch 2.13's, except `generated`.
TAGS = {
    "add.Tensor": "core pointwise pt2_compliant_tag",
    "relu_": "inplace pointwise pt2_compliant_tag",
    "div.out": "out pointwise pt2_compliant_tag",
    "igamma": "pointwise pt2_compliant_tag",
    "tanh_backward": "pointwise pt2_compliant_tag",
    "special_chebyshev_polynomial_t": "pointwise pt2_compliant_tag",
    "sum.dim_IntList": "core pt2_compliant_tag reduction",
    "logsumexp": "pt2_compliant_tag reduction",
    "rand": "core nondeterministic_seeded pt2_compliant_tag",
    "uniform_": "inplace nondeterministic_seeded pt2_compliant_tag",
    "multinomial": "nondeterministic_seeded pt2_compliant_tag",
    "dropout": "maybe_aliasing_or_mutating nondeterministic_seeded pt2_compliant_tag",
    "lstm.input": "nondeterministic_seeded pt2_compliant_tag",
    "nonzero": "core dynamic_output_shape pt2_compliant_tag",
    "index.Tensor": "core dynamic_output_shape pt2_compliant_tag",
    "bincount": "dynamic_output_shape pt2_compliant_tag",
    "item": "data_dependent_output pt2_compliant_tag",
    "allclose": "data_dependent_output pt2_compliant_tag",
    "select_copy.int": "pt2_compliant_tag view_copy",
    "view_as_real_copy": "pt2_compliant_tag view_copy",
    "transpose_": "inplace inplace_view pt2_compliant_tag",
    "set_.source_Tensor": "inplace inplace_view pt2_compliant_tag",
    "rrelu_with_noise": "nondeterministic_seeded pt2_compliant_tag",
    "view": "core pt2_compliant_tag",
}


def overload(name):
    stem, _, rest = name.partition(".")
    return getattr(getattr(torch.ops.aten, stem), rest or "default")


@pytest.mark.parametrize("name", TAGS)
def test_tags(name):
    assert sorted(tag.name for tag in overload(name).tags) == TAGS[name].split()


def test_only_known_tags_are_declared():
    schema = parse_schema("f(Tensor self) -> Tensor")
    assert Known(schema, "view", "view_copy", True).tags_of(schema) == "core view_copy"
    with pytest.raises(ValueError, match="'fast' names fast, which is none of"):
        Known(schema, "loop", "fast").tags_of(schema)


def test_an_op_that_takes_a_generator_draws():
    names = [name for name, *_ in torch._C._list_ops() if name.startswith("aten::")]
    taking = [
        op
        for op in (overload(name.removeprefix("aten::")) for name in names)
        if any("Generator" in str(a.type) for a in op._schema.arguments)
    ]
    assert len(taking) > 50
    tag = torch.Tag.nondeterministic_seeded
    assert [op.name() for op in taking if tag not in op.tags] == []
