"""Sobol sequences: their first points, scrambling, how they go on."""

import pytest

import pellucid as torch

SobolEngine = torch.quasirandom.SobolEngine


def test_the_first_points_are_known():
    points = SobolEngine(3).draw(4)
    expected = [[0, 0, 0], [0.5, 0.5, 0.5], [0.75, 0.25, 0.25], [0.25, 0.75, 0.75]]
    assert points.tolist() == expected and points.dtype == torch.float32


@pytest.mark.parametrize("scramble", [False, True])
def test_a_sequence_goes_on_where_it_was(scramble):
    whole = SobolEngine(5, scramble, seed=1).draw(16, dtype=torch.float64)
    engine = SobolEngine(5, scramble, seed=1)
    parts = [engine.draw(n, dtype=torch.float64) for n in (1, 6, 9)]
    assert torch.equal(torch.cat(parts), whole)
    assert torch.equal(
        engine.reset().fast_forward(7).draw(9, dtype=torch.float64), parts[2]
    )


def test_scrambled_points_fill_every_interval_once():
    points = SobolEngine(4, scramble=True, seed=7).draw_base2(5)
    places = (points * 32).long()
    assert all(sorted(column) == list(range(32)) for column in places.T.tolist())
    again = SobolEngine(4, scramble=True, seed=7).draw(32)
    assert torch.equal(points, again)


def test_what_cannot_be_drawn():
    with pytest.raises(ValueError, match="dims"):
        SobolEngine(0)
    engine = SobolEngine(2)
    engine.draw(3)
    with pytest.raises(ValueError, match="power of two"):
        engine.draw_base2(3)
