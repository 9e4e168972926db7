"""Every declaration says what its op does, and the package shows it."""

import pydoc
import re

import pytest

import pellucid as torch
import pellucid_compiler.catalogue  # noqa: F401 - fills the registry
from pellucid import _C
from pellucid_compiler.composites import all_composites
from pellucid_compiler.declare import REGISTRY
from pellucid_compiler.declare.documentation import Documentation
from pellucid_compiler.declare.intrinsics import INTRINSICS

TEXTS = {
    **{name: op.__doc__ for name, op in REGISTRY.items()},
    **{name: op.doc for name, op in INTRINSICS.items()},
    **{composite.schema: composite.__doc__ for composite in all_composites()},
}
MODULES = (torch, torch.linalg, torch.fft, torch.special, torch.nn.functional)
BOUND = type(torch.add), type(torch.Tensor.add)
# Some words and an end: no heading, no placeholder.
SENTENCE = re.compile(r"\S.{3,}?[.;:](\s|$)", re.DOTALL)


def bound():
    """Functions and methods from the op table, by their names."""
    for module in MODULES:
        for name, value in vars(module).items():
            if type(value) in BOUND:
                yield f"{module.__name__}.{name}", value
    for name, value in vars(_C.TensorBase).items():
        if type(value) in BOUND and not name.startswith("__"):
            yield f"Tensor.{name}", value


def test_there_are_declarations_to_check():
    assert len(TEXTS) > 1000 and len(dict(bound())) > 1200


def test_a_declaration_says_what_its_op_does():
    assert [
        name for name, text in TEXTS.items() if not SENTENCE.match(text or "")
    ] == []


def test_everything_from_the_op_table_has_a_docstring():
    assert [name for name, value in bound() if not value.__doc__] == []


def test_help_shows_what_the_declaration_says():
    shown = pydoc.plain(pydoc.render_doc(torch.softmax))
    assert "softmax.int(Tensor self, int dim" in shown
    assert REGISTRY["softmax.int"].__doc__.split("\n")[0] in shown


def test_functions_methods_and_packets_say_the_same():
    message = torch.add.__doc__
    assert message.startswith(
        "add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1)"
    )
    assert message == torch.Tensor.add.__doc__ == torch.ops.aten.add.__doc__
    assert message == torch.ops.aten.add.Tensor.__doc__


def test_aliases_and_forms_say_what_they_are_of():
    assert "Another name of ``acos``." in torch.arccos.__doc__
    assert "Other names: arccos." in torch.acos.__doc__
    assert "The in-place form of ``add``." in torch.Tensor.add_.__doc__
    assert "The gradient of ``softplus``." in torch.ops.aten.softplus_backward.__doc__
    assert "What ``t`` shows" in torch.ops.aten.t_copy.__doc__


def test_a_signature_is_there_where_one_covers_all_overloads():
    assert torch.add.__text_signature__ == "(input, other, *, alpha=1, out=None)"
    assert torch.Tensor.add.__text_signature__ == "($self, other, *, alpha=1)"
    assert torch.sum.__text_signature__ is None


def test_signatures_name_what_calls_take():
    documentation = Documentation()
    for name in documentation.overloads:
        function = getattr(torch, name, None)
        if type(function) is type(torch.add) and function.__text_signature__:
            assert pydoc.inspect.signature(function).parameters


def test_classes_of_ops_have_docstrings_of_their_own():
    packet = type(torch.ops.aten.add)
    assert packet.__doc__.startswith("The overloads of one op name")
    torch.library.define("documentation::plain", "(Tensor x) -> Tensor")
    assert torch.ops.documentation.plain.__doc__ == packet.__doc__


def test_names_that_are_not_declared_have_no_text():
    assert _C._op_documentation("no_such_op") is None
    with pytest.raises(TypeError):
        _C._op_documentation(1)
