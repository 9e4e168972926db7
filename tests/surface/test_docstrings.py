"""What is public says what it does: ``help`` shows something of every function."""

import inspect
import pydoc
import re
from importlib import import_module
from types import ModuleType

import pytest
from tests.surface.test_names import NAMES

import pellucid as torch

MODULES = [
    "amp",
    "autograd",
    "autograd.forward_ad",
    "autograd.functional",
    "compiler",
    "cuda",
    "distributed",
    "distributions",
    "export",
    "fft",
    "func",
    "functional",
    "futures",
    "fx",
    "hub",
    "jit",
    "library",
    "linalg",
    "masked",
    "nested",
    "nn",
    "nn.attention",
    "nn.functional",
    "nn.init",
    "nn.parallel",
    "nn.utils",
    "nn.utils.parametrize",
    "nn.utils.prune",
    "nn.utils.rnn",
    "onnx",
    "optim",
    "optim.lr_scheduler",
    "optim.swa_utils",
    "overrides",
    "profiler",
    "quasirandom",
    "random",
    "serialization",
    "signal.windows",
    "sparse",
    "special",
    "testing",
    "utils.checkpoint",
    "utils.data",
    "utils.dlpack",
]


def public(module):
    """The callables of the package that a module has, by their names."""
    for name in dir(module):
        value = None if name.startswith("_") else getattr(module, name)
        home = getattr(value, "__module__", None)
        is_ours = isinstance(home, str) and home.startswith(("pellucid", "torch"))
        if callable(value) and not isinstance(value, ModuleType) and is_ours:
            yield name, value


@pytest.mark.parametrize("name", ["", *MODULES])
def test_public_functions_and_classes_have_docstrings(name):
    module = import_module(f"pellucid.{name}".rstrip("."))
    actual = dict(public(module))
    assert actual and [n for n, value in actual.items() if not value.__doc__] == []


def head_of(text):
    """The first paragraph that is not a schema, in one line."""
    paragraphs = re.split(r"\n\s*\n", inspect.cleandoc(text))
    lines = (" ".join(paragraph.split()) for paragraph in paragraphs)
    return next(line for line in lines if not re.match(r"[\w.:]+\(.*\) -> ", line))


def is_sentence(name, head):
    """Whether it begins as one, or with its own call, and ends as one."""
    begins = not head[0].islower() or head.startswith(f"{name}(")
    return begins and head.endswith((".", ":", "?", ")"))


@pytest.mark.parametrize("name", ["", *MODULES])
def test_docstrings_begin_with_a_sentence(name):
    module = import_module(f"pellucid.{name}".rstrip("."))
    heads = {n: head_of(value.__doc__) for n, value in public(module)}
    assert [n for n, head in heads.items() if not is_sentence(n, head)] == []


def test_docstrings_of_methods_begin_with_a_sentence():
    names = NAMES["torch.Tensor"] & set(dir(torch.Tensor))
    texts = {n: inspect.getattr_static(torch.Tensor, n).__doc__ for n in names}
    heads = {n: head_of(text) for n, text in texts.items() if not hasattr(object, n)}
    assert [n for n, head in heads.items() if not is_sentence(n, head)] == []


def test_methods_and_attributes_of_tensors_have_docstrings():
    names = NAMES["torch.Tensor"] & set(dir(torch.Tensor))  # not those of backends
    static = {name: inspect.getattr_static(torch.Tensor, name) for name in names}
    assert len(names) >= 598
    assert [name for name, value in static.items() if not value.__doc__] == []


@pytest.mark.parametrize("name", ["add", "einsum", "unique", "Tensor", "no_grad"])
def test_help_shows_the_docstring(name):
    value = getattr(torch, name)
    shown = pydoc.plain(pydoc.render_doc(value))
    assert value.__doc__.strip().splitlines()[0] in shown
