"""Seeds give the numbers that PyTorch 2.13 gives on the CPU."""

from __future__ import annotations

import pytest

import pellucid


@pytest.fixture(autouse=True)
def seed() -> None:
    pellucid.manual_seed(0)


def test_one_stream_serves_every_distribution() -> None:
    assert pellucid.rand(3).tolist() == [
        0.49625658988952637,
        0.7682217955589294,
        0.08847743272781372,
    ]
    assert pellucid.rand(2, dtype=pellucid.float64).tolist() == [
        0.0562441839043476,
        0.07262971157225484,
    ]
    few = pellucid.randn(3).tolist()
    assert few == [0.16421625018119812, 0.3057610094547272, 0.20998091995716095]
    many = pellucid.randn(17).tolist()
    expected = [0.8503773808479309, 0.441156268119812, -1.586688756942749]
    assert [many[0], many[8], many[16]] == pytest.approx(expected, rel=1e-6)
    assert pellucid.randperm(8).tolist() == [6, 0, 1, 7, 5, 2, 3, 4]
    assert pellucid.randint(100, (4,)).tolist() == [80, 3, 6, 76]
    assert pellucid.randint(0, 1 << 40, (2,)).tolist() == [649676319395, 1094247001547]
    integers = pellucid.empty(4, dtype=pellucid.int64).random_().tolist()
    assert integers[0] == 4370368996483417271 and integers[3] == 5979346149501131829
    coins = pellucid.empty(8).bernoulli_(0.5).tolist()
    assert coins == [0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 1.0, 1.0]


def test_elements_are_drawn_in_memory_order() -> None:
    across = pellucid.empty(5, 7).t().uniform_()
    pellucid.manual_seed(0)
    assert across.t().tolist() == pellucid.rand(5, 7).tolist()


def test_states_are_restored() -> None:
    pellucid.randn(3)  # leaves half of a pair of normals behind
    state = pellucid.get_rng_state()
    first = pellucid.randn(4).tolist(), pellucid.rand(700).tolist()
    pellucid.set_rng_state(state)
    assert (pellucid.randn(4).tolist(), pellucid.rand(700).tolist()) == first


def test_generators_are_independent() -> None:
    generator = pellucid.Generator().manual_seed(0)
    pellucid.rand(10)
    assert pellucid.rand(1, generator=generator).item() == 0.49625658988952637


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: pellucid.empty(3).random_(5, 2), RuntimeError, "less than 'to'"),
        (lambda: pellucid.empty(3).uniform_(2, 1), RuntimeError, "from <= to"),
        (lambda: pellucid.empty(3).normal_(0, -1), RuntimeError, "std >= 0"),
        (lambda: pellucid.randperm(-1), RuntimeError, "must not be negative"),
        (
            lambda: pellucid.randint(300, (3,), dtype=pellucid.uint8),
            RuntimeError,
            "do not fit",
        ),
        (
            lambda: pellucid.empty(3, requires_grad=True).normal_(),
            RuntimeError,
            "leaf",
        ),
    ],
)
def test_impossible_draws_are_refused(call, error, text) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(error, match=text):
        call()
