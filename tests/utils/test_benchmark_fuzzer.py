"""``utils.benchmark.Fuzzer``: random parameters within bounds, and their tensors."""

import pytest

import pellucid as torch
from pellucid.utils import benchmark
from pellucid.utils.benchmark import (
    FuzzedParameter,
    FuzzedSparseTensor,
    FuzzedTensor,
    Fuzzer,
    ParameterAlias,
)


def samples(parameters, tensors=(), count=40, **options):
    return list(Fuzzer(parameters, tensors, seed=3, **options).take(count))


def test_numbers_are_within_their_bounds():
    whole = FuzzedParameter("whole", 2, 4, "uniform")
    real = FuzzedParameter("real", 0.5, 2, "loguniform")
    large = FuzzedParameter("large", 1, 1000, "loguniform")
    actual = [params for *_, params in samples([[whole, real], large], count=200)]
    assert {p["whole"] for p in actual} == {2, 3, 4}
    assert all(0.5 <= p["real"] <= 2 for p in actual)
    assert 40 < sum(p["large"] < 32 for p in actual) < 160
    assert all(isinstance(p["large"], int) for p in actual)


def test_values_have_their_probabilities_and_may_name_a_parameter():
    kind = FuzzedParameter("kind", distribution={"x": 0.9, ParameterAlias("n"): 0.1})
    n = FuzzedParameter("n", 1, 9, "uniform")
    actual = [params for *_, params in samples([kind, n], count=200)]
    others = [p for p in actual if p["kind"] != "x"]
    assert 5 < len(others) < 50
    assert all(p["kind"] == p["n"] for p in others)


def test_tensors_are_arranged_as_is_said_of_them():
    parameters = [
        FuzzedParameter("n", 2, 64, "loguniform"),
        FuzzedParameter("m", 2, 8, "uniform"),
        FuzzedParameter("dims", 1, 2, "uniform"),
        FuzzedParameter("step", 1, 2, "uniform"),
    ]
    tensor = FuzzedTensor(
        "x", ("n", "m"), ("step", 1), 0.5, 8, 200, 1000, "dims", dtype=torch.int16
    )
    arranged = set()
    fuzzer = Fuzzer(parameters, [tensor], seed=0)
    for tensors, how, params in fuzzer.take(40):
        x, message = tensors["x"], how["x"]
        assert x.dtype is torch.int16 and 8 <= x.numel() == message["numel"] <= 200
        assert x.shape == (params["n"], params["m"])[: params["dims"]]
        assert x.numel() * params["step"] * 2 <= 1000
        assert message["is_contiguous"] == x.is_contiguous()
        arranged.add((x.dim(), *message["order"], message["steps"][0]))
    assert arranged == {(1, 0, 1), (1, 0, 2)} | {
        (2, *order, step) for order in ((0, 1), (1, 0)) for step in (1, 2)
    }
    assert 0 < fuzzer.rejection_rate < 1


def test_equal_seeds_give_equal_samples():
    size = FuzzedParameter("n", 1, 99, "uniform")
    first, second = (samples([size], [FuzzedTensor("x", ("n",))]) for _ in range(2))
    for (one, *_, params), (other, *_, others) in zip(first, second, strict=True):
        assert params == others and torch.equal(one["x"], other["x"])


def test_constraints_draw_again_but_for_strict_parameters():
    strict = FuzzedParameter("strict", 0, 9, "uniform", strict=True)
    free = FuzzedParameter("free", 0, 9, "uniform")
    actual = samples([strict, free], constraints=[lambda p: p["free"] == p["strict"]])
    assert len({params["strict"] for *_, params in actual}) > 5
    with pytest.raises(ValueError, match="none of 1000 draws met"):
        samples([free], constraints=[lambda p: False])


def test_a_constructor_gets_all_parameters():
    def full(size, dtype, n, value):
        assert tuple(size) == (n,)
        return torch.full(size, value, dtype=dtype)

    parameters = [FuzzedParameter(name, 1, 5, "uniform") for name in ("n", "value")]
    tensor = FuzzedTensor("x", ("n",), tensor_constructor=full)
    for tensors, _, params in samples(parameters, [[tensor]]):
        assert (tensors["x"] == params["value"]).all()


def test_sparse_tensors_have_the_density_and_dims_that_are_drawn():
    parameters = [
        FuzzedParameter("n", 4, 9, "uniform"),
        FuzzedParameter("dims", 1, 2, "uniform"),
        FuzzedParameter("density", 0.3, 0.6, "uniform"),
        FuzzedParameter("coalesced", distribution={True: 0.5, False: 0.5}),
    ]
    tensor = FuzzedSparseTensor(
        "x", ("n", "n"), sparse_dim="dims", density="density", coalesced="coalesced"
    )
    for tensors, how, params in samples(parameters, [tensor]):
        x = tensors["x"]
        assert x.sparse_dim() == params["dims"] and x.layout is torch.sparse_coo
        assert x.is_coalesced() == params["coalesced"]
        twice = x.coalesce()._nnz() < x._nnz()
        assert twice != params["coalesced"]
        share = x._nnz() / params["n"] ** params["dims"]
        assert params["density"] <= share < params["density"] + 1 / params["n"]
        assert how["x"]["nnz"] == x._nnz()


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: FuzzedParameter("n", 1, 2, "normal"), AssertionError, "'normal'"),
        (lambda: FuzzedParameter("n", 1, None, "uniform"), AssertionError, "maxval"),
        (lambda: FuzzedParameter("n", 1, 2, {1: 1.0}), AssertionError, "no bounds"),
        (
            lambda: FuzzedParameter("n", distribution={1: 0.5}),
            AssertionError,
            "add up to 1",
        ),
        (lambda: FuzzedTensor("x", (2,), (1, 2)), AssertionError, "2 steps for 1"),
        (lambda: FuzzedTensor("x", (2,), cuda=True), NotImplementedError, "no CUDA"),
        (
            lambda: Fuzzer([], [FuzzedTensor("x", (2,)), FuzzedTensor("x", (3,))]),
            ValueError,
            r"\['x'\]",
        ),
    ],
)
def test_what_cannot_be_drawn_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_words_of_tables():
    assert benchmark.ordered_unique([3, 1, 3, 2]) == [3, 1, 2]
    assert benchmark.select_unit(3e-5) == ("us", 1e-6)
    assert benchmark.unit_to_english("us") == "microsecond"
    assert benchmark.trim_sigfig(123456.789, 3) == 123000.0
    before = torch.get_num_threads()
    with benchmark.set_torch_threads(before + 1):
        assert torch.get_num_threads() == before + 1
    assert torch.get_num_threads() == before
