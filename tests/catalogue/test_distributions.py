"""Distributions: densities integrate, samples have the stated moments."""

import math

import pytest

import pellucid as torch
from pellucid import distributions as D
from pellucid.testing import assert_close

CONTINUOUS = [
    D.Normal(1.0, 2.0),
    D.Laplace(0.5, 1.5),
    D.Gumbel(0.0, 1.0),
    D.LogNormal(0.0, 0.5),
    D.Uniform(-1.0, 3.0),
    D.Exponential(2.0),
    D.Gamma(3.0, 2.0),
    D.Beta(2.0, 3.0),
    D.HalfNormal(2.0),
    D.Weibull(1.0, 2.0),
    D.StudentT(8.0),
]


@pytest.mark.parametrize("given", CONTINUOUS, ids=lambda d: type(d).__name__)
def test_samples_have_the_mean_and_variance(given):
    torch.manual_seed(0)
    drawn = given.sample((20000,)).double()
    error = 6 * float(given.stddev) / math.sqrt(20000)
    assert float(drawn.mean()) == pytest.approx(float(given.mean), abs=error)
    assert float(drawn.var()) == pytest.approx(float(given.variance), rel=0.15)


@pytest.mark.parametrize("given", CONTINUOUS, ids=lambda d: type(d).__name__)
def test_densities_integrate_to_one(given):
    low = -60.0 if given.support.check(torch.tensor(-0.5)).all() else 0.0
    low, high = (-1.0, 3.0) if isinstance(given, D.Uniform) else (low, 60.0)
    high = 1.0 if isinstance(given, D.Beta) else high
    # midpoints, since a density may jump or be infinite at an end of its support
    x = torch.linspace(low, high, 20001, dtype=torch.float64)
    x = (x[1:] + x[:-1]) / 2
    density = given.log_prob(x).exp()
    total = density.sum() * (high - low) / 20000
    assert float(total) == pytest.approx(1, abs=1e-3)


def test_gamma_samples_differentiate():
    torch.manual_seed(0)
    shape = torch.tensor(3.0, requires_grad=True)
    D.Gamma(shape.expand(4000), torch.tensor(1.0)).rsample().mean().backward()
    assert float(shape.grad) == pytest.approx(1, abs=0.1)


def test_classes_come_as_often_as_they_should():
    torch.manual_seed(0)
    weights = torch.tensor([1.0, 2.0, 1.0])
    drawn = D.Categorical(weights).sample((8000,))
    shares = torch.bincount(drawn).double() / 8000
    assert_close(shares, weights.double() / 4, atol=0.03, rtol=0.0)
    assert_close(
        D.Categorical(weights).log_prob(torch.tensor(1)).exp(), torch.tensor(0.5)
    )


def test_counts():
    torch.manual_seed(0)
    for rate in (0.5, 40.0):
        drawn = D.Poisson(rate).sample((8000,))
        assert float(drawn.mean()) == pytest.approx(rate, rel=0.05)
    actual = D.Binomial(5, torch.tensor(0.3)).log_prob(torch.tensor(2.0)).exp()
    assert float(actual) == pytest.approx(0.3087, abs=1e-4)


def test_normal_vectors():
    matrix = torch.tensor([[2.0, 0.5], [0.5, 1.0]])
    distribution = D.MultivariateNormal(torch.zeros(2), matrix)
    wanted = -0.5 * math.log((2 * math.pi) ** 2 * 1.75)
    assert float(distribution.log_prob(torch.zeros(2))) == pytest.approx(
        wanted, rel=1e-5
    )
    assert_close(distribution.precision_matrix @ matrix, torch.eye(2))


@pytest.mark.parametrize(
    ("p", "q"),
    [
        (D.Normal(0.0, 1.0), D.Normal(1.0, 2.0)),
        (D.Gamma(2.0, 1.0), D.Gamma(3.0, 2.0)),
        (D.Exponential(1.0), D.Exponential(3.0)),
        (D.Laplace(0.0, 1.0), D.Laplace(1.0, 2.0)),
    ],
)
def test_divergence_is_the_expected_gap(p, q):
    torch.manual_seed(0)
    x = p.sample((40000,))
    estimate = (p.log_prob(x) - q.log_prob(x)).mean()
    assert float(D.kl_divergence(p, q)) == pytest.approx(float(estimate), abs=0.05)


def test_values_outside_the_support_are_refused():
    with pytest.raises(ValueError, match="support"):
        D.Exponential(1.0).log_prob(torch.tensor(-1.0))
    with pytest.raises(ValueError, match="scale"):
        D.Normal(0.0, -1.0)


def test_transformed_distributions():
    distribution = D.TransformedDistribution(
        D.Normal(0.0, 1.0), [D.ExpTransform(), D.AffineTransform(0.0, 2.0)]
    )
    x = torch.tensor([0.5, 3.0])
    assert_close(distribution.log_prob(x), D.LogNormal(math.log(2), 1.0).log_prob(x))


def test_independent_sums_over_dims():
    distribution = D.Independent(D.Normal(torch.zeros(3, 2), torch.ones(3, 2)), 1)
    assert distribution.batch_shape == (3,)
    assert distribution.log_prob(torch.zeros(3, 2)).shape == (3,)


@pytest.mark.parametrize(
    ("constraint", "shape"),
    [
        (D.constraints.positive, (3,)),
        (D.constraints.interval(-1.0, 2.0), (3,)),
        (D.constraints.simplex, (3,)),
        (D.constraints.corr_cholesky, (6,)),
        (D.constraints.independent(D.constraints.greater_than(1.0), 1), (3,)),
    ],
)
def test_bijections_lead_to_constraints_and_back(constraint, shape):
    torch.manual_seed(0)
    x = torch.randn(shape, dtype=torch.float64)
    transform = D.biject_to(constraint)
    y = transform(x)
    assert bool(constraint.check(y).all())
    assert_close(transform.inv(y), x)


def test_volumes_are_those_of_the_jacobian():
    x = torch.tensor([0.3, -0.2, 0.9], dtype=torch.float64)
    transform = D.StickBreakingTransform()
    jacobian = torch.autograd.functional.jacobian(lambda x: transform(x)[..., :-1], x)
    wanted = torch.linalg.slogdet(jacobian).logabsdet
    assert_close(transform.log_abs_det_jacobian(x, transform(x)), wanted)


def test_the_same_covariance_in_three_forms():
    factor = torch.tensor([[2.0, 0.0], [0.5, 1.0]], dtype=torch.float64)
    covariance, mean = factor @ factor.mT, torch.zeros(2, dtype=torch.float64)
    distribution = D.MultivariateNormal(mean, scale_tril=factor)
    x = torch.tensor([0.4, -1.0], dtype=torch.float64)
    for other in (
        D.MultivariateNormal(mean, covariance),
        D.MultivariateNormal(mean, precision_matrix=torch.linalg.inv(covariance)),
    ):
        assert_close(other.log_prob(x), distribution.log_prob(x))
        assert float(D.kl_divergence(distribution, other)) == pytest.approx(0, abs=1e-9)


def test_expanded_covariances_have_the_same_densities():
    matrices = torch.tensor([[[2.0, 0.5], [0.5, 1.0]], [[1.0, 0.0], [0.0, 3.0]]])
    distribution = D.Wishart(torch.tensor([5.0, 6.0]), covariance_matrix=matrices)
    densities = distribution.log_prob(matrices)
    assert densities.shape == (2,)
    assert_close(distribution.expand([5, 2]).log_prob(matrices), densities.expand(5, 2))
    # a batch of degrees of freedom, one matrix
    shared = D.Wishart(torch.tensor([5.0, 6.0]), covariance_matrix=matrices[0])
    alone = D.Wishart(6.0, covariance_matrix=matrices[0]).log_prob(matrices[1])
    assert_close(shared.expand([5, 2]).log_prob(matrices[1])[4, 1], alone)


@pytest.mark.parametrize(
    "make",
    [
        lambda: D.LogNormal(torch.zeros(2), torch.ones(2)),
        lambda: D.HalfNormal(torch.ones(2)),
        lambda: D.HalfCauchy(torch.ones(2)),
    ],
)
def test_images_of_a_distribution_have_their_base(make):
    result = make()
    assert isinstance(result, D.TransformedDistribution)
    assert result.base_dist.batch_shape == (2,)
    wider = result.expand((3, 2))
    assert type(wider) is type(result)
    assert wider.scale.shape == wider.sample().shape == (3, 2)
    value = torch.tensor([0.5, 1.5])
    assert_close(result.icdf(result.cdf(value)), value)
    with pytest.raises(ValueError, match="scale"):
        type(result)(
            *([torch.zeros(1)] * (type(result) is D.LogNormal)), -torch.ones(1)
        )


def test_expanding_gives_the_class_below():
    class Named(D.Dirichlet):
        pass

    class Counted(D.Multinomial):
        pass

    class Chosen(D.OneHotCategorical):
        pass

    for cls, result in (
        (Named, Named(torch.ones(3))),
        (Counted, Counted(4, torch.ones(3))),
        (Chosen, Chosen(torch.ones(3))),
    ):
        wider = result.expand((2, 5))
        assert type(wider) is cls
        assert wider.batch_shape == (2, 5)
        assert wider.sample().shape == wider.mean.shape == (2, 5, 3)


def test_a_transform_can_be_a_module():
    class Scale(D.Transform, torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.factor = torch.nn.Parameter(torch.ones(1))

    assert [name for name, _ in Scale().named_parameters()] == ["factor"]


# Seed 0; drawn by PyTorch 2.13.
DRAWS = [
    (lambda: torch._standard_gamma(torch.ones(4)), [2.8824, 0.4546, 0.1154, 0.0526]),
    (
        lambda: torch._standard_gamma(torch.full((4,), 0.5)),
        [7.8936e-04, 4.4151e-02, 3.4328e-01, 8.1756e-01],
    ),
    (lambda: torch.poisson(torch.full((6,), 3.0)), [6, 3, 2, 3, 4, 3]),
    (lambda: torch.poisson(torch.full((4,), 30.0)), [29, 32, 24, 31]),
    (
        lambda: torch.binomial(torch.full((6,), 5.0), torch.full((6,), 0.3)),
        [3, 2, 2, 1, 2, 1],
    ),
    (
        lambda: torch.binomial(torch.full((4,), 50.0), torch.full((4,), 0.3)),
        [16, 11, 16, 15],
    ),
    (lambda: torch._sample_dirichlet(torch.ones(3)), [0.8349, 0.1317, 0.0334]),
]


@pytest.mark.parametrize(("draw", "expected"), DRAWS)
def test_rejection_draws_pytorchs_numbers(draw, expected):
    torch.manual_seed(0)
    assert draw().tolist() == pytest.approx(expected, rel=2e-3)


def test_binomial_counts_of_likely_successes_and_edges():
    trials = torch.tensor([200.0, 200.0, 7.0, 0.0, 9.0, 9.0])
    chances = torch.tensor([0.99, 0.7, 1.0, 0.5, 0.0, 0.9])
    torch.manual_seed(1)
    drawn = torch.stack([torch.binomial(trials, chances) for _ in range(400)])
    assert drawn[:, 2:5].unique().tolist() == [0, 7]
    assert ((drawn >= 0) & (drawn <= trials)).all()
    spread = (trials * chances * (1 - chances) / 400).sqrt()
    assert ((drawn.mean(0) - trials * chances).abs() <= 5 * spread).all()


def test_impossible_parameters_of_draws():
    assert torch._standard_gamma(torch.tensor([float("nan"), -1.0])).isnan().all()
    with pytest.raises(RuntimeError, match="negative"):
        torch.poisson(torch.tensor([float("nan")]))
    with pytest.raises(NotImplementedError, match="poisson"):
        torch.poisson(torch.ones(2, dtype=torch.int64))
    with pytest.raises(RuntimeError, match="found dtype"):
        torch.binomial(torch.ones(2), torch.ones(2).double())
    with pytest.raises(TypeError, match="contiguous float64"):
        torch._C._pellucid._draw_gamma_(torch.ones(3))


def test_constraints_of_parameters_name_their_bounds():
    uniform = D.Uniform(0.0, 2.0)
    assert str(uniform.arg_constraints["low"]) == "LessThan(upper_bound=2.0)"
    wishart = D.Wishart(torch.tensor(3.0), torch.eye(2))
    assert str(wishart.arg_constraints["df"]) == "GreaterThan(lower_bound=1)"
    chances = D.NegativeBinomial.arg_constraints["probs"]
    assert str(chances) == "HalfOpenInterval(lower_bound=0.0, upper_bound=1.0)"
    assert str(D.constraints.real_vector) == "IndependentConstraint(Real(), 1)"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: D.Uniform(2.0, 1.0), "LessThan"),
        (lambda: D.NegativeBinomial(3, torch.tensor(1.0)), "HalfOpenInterval"),
        (lambda: D.Pareto(1.0, 2.0).cdf(torch.tensor(0.4)), "support"),
    ],
)
def test_values_out_of_bounds(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_a_mixture_s_values_satisfy_the_bounds_of_each_component():
    parts = D.Exponential(torch.tensor([1.0, 2.0]))
    mixture = D.MixtureSameFamily(D.Categorical(torch.ones(2)), parts)
    assert "MixtureSameFamilyConstraint(GreaterThanEq" in str(mixture.support)
    assert mixture.log_prob(torch.tensor([0.5, 1.5, 2.5])).shape == (3,)
    with pytest.raises(ValueError, match="support"):
        mixture.log_prob(torch.tensor([-1.0]))
    vectors = D.constraints.MixtureSameFamilyConstraint(D.constraints.real_vector)
    assert vectors.check(torch.ones(3, 2)).tolist() == [True] * 3


@pytest.mark.parametrize(
    ("name", "kind", "text"),
    [
        ("real_vector", "_IndependentConstraint", "IndependentConstraint(Real(), 1)"),
        ("positive", "_GreaterThan", "GreaterThan(lower_bound=0.0)"),
        ("nonnegative", "_GreaterThanEq", "GreaterThanEq(lower_bound=0.0)"),
        (
            "unit_interval",
            *("_Interval", "Interval(lower_bound=0.0, upper_bound=1.0)"),
        ),
        (
            "positive_integer",
            *("_IntegerGreaterThan", "IntegerGreaterThan(lower_bound=1)"),
        ),
        ("positive_definite", "_PositiveDefinite", "PositiveDefinite()"),
        ("corr_cholesky", "_CorrCholesky", "CorrCholesky()"),
        ("one_hot", "_OneHot", "OneHot()"),
    ],
)
def test_constraints_have_pytorchs_names(name, kind, text):
    actual = getattr(D.constraints, name)
    assert type(actual).__name__ == kind and repr(actual) == text


def test_supports_print_as_pytorchs():
    assert repr(D.Categorical.support) == "DependentProperty()"
    assert repr(D.constraints.dependent) == "Dependent()"
    assert D.constraints.cat is type(D.constraints.cat([D.constraints.real]))
    mixture = D.MixtureSameFamily(
        D.Categorical(torch.ones(2)),
        D.Uniform(torch.zeros(2), torch.tensor([1.0, 2.0])),
    )
    shown = "MixtureSameFamilyConstraint(Interval(lower_bound="
    assert repr(mixture.support).startswith(shown)
    inside = mixture.support.check(torch.tensor([0.5, 1.5]))
    assert inside.tolist() == [True, False]  # in the support of every component
    with pytest.raises(ValueError, match="HalfOpenInterval"):
        D.NegativeBinomial(3, probs=torch.tensor(1.0), validate_args=True)


def test_a_distribution_that_is_a_module_prints():
    class Prior(D.HalfCauchy, torch.nn.Module):
        def __init__(self, scale):
            torch.nn.Module.__init__(self)
            D.HalfCauchy.__init__(self, scale)

    assert repr(Prior(torch.tensor(0.5))).startswith("Prior(")
