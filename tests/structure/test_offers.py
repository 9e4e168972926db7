"""Names that are imported when first used are marked where they are defined."""

import pytest
from tools import write_offers

import pellucid as torch
from pellucid import _C
from pellucid._package import offers
from pellucid._package.lazy import LazyModule

SOURCE = """
@offered.function
@offered.method
def smm(self, mat): ...

@unrelated
def helper(): ...

spmm = dsmm = offered.function(torch.mm)
offered.values("FloatStorage", "IntStorage")
plain = helper(3)
"""


def test_marks_are_read_off_a_source():
    assert list(write_offers.offers(SOURCE)) == [
        ("function", "smm"),
        ("method", "smm"),
        ("function", "spmm"),
        ("function", "dsmm"),
        ("value", "FloatStorage"),
        ("value", "IntStorage"),
    ]


def test_the_table_says_what_the_marks_say():
    assert write_offers.RESULT.read_text() == write_offers.text()


@pytest.mark.parametrize(
    ("namespace", "table"),
    [
        (torch, {**offers.VALUES, **offers.FUNCTIONS}),
        (torch.Tensor, offers.METHODS),
        (_C, offers.OF_RUNTIME),
    ],
    ids=["package", "Tensor", "runtime"],
)
def test_every_offer_is_found(namespace, table):
    assert table
    for name in table:
        assert repr(getattr(namespace, name))


def test_every_public_module_is_an_attribute():
    for name in offers.MODULES:
        module = vars(torch)[name]
        assert type(module) is LazyModule or module.__name__.endswith(name)
