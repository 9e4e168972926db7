"""Bayesian optimization: fitted Gaussian processes, acquisition functions, fronts."""

import warnings

import torch
from botorch.acquisition import LogExpectedImprovement, UpperConfidenceBound
from botorch.fit import fit_gpytorch_mll
from botorch.models import MultiTaskGP, SingleTaskGP
from botorch.optim import optimize_acqf
from botorch.utils.multi_objective.hypervolume import Hypervolume
from botorch.utils.multi_objective.pareto import is_non_dominated
from botorch.utils.sampling import draw_sobol_samples
from gpytorch.mlls import ExactMarginalLogLikelihood

warnings.simplefilter("ignore")
torch.manual_seed(0)
bounds = torch.tensor([[0.0, 0.0], [1.0, 1.0]], dtype=torch.float64)
x = torch.rand(10, 2, dtype=torch.float64)
y = torch.sin(6 * x[:, :1]) + x[:, 1:] ** 2
model = SingleTaskGP(x, y)
fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
print("mean", f"{model.posterior(x[:3] / 2).mean.sum().item():.4g}")
for acquisition in (
    LogExpectedImprovement(model, best_f=y.max()),
    UpperConfidenceBound(model, beta=0.1),
):
    torch.manual_seed(1)
    _, value = optimize_acqf(acquisition, bounds, q=1, num_restarts=3, raw_samples=16)
    print(type(acquisition).__name__, f"{value.item():.4g}")
task = (x[:, 1:] > 0.5).double()
several = MultiTaskGP(torch.cat((x[:, :1], task), 1), y, task_feature=1)
print("tasks", f"{several.posterior(x[:3, :1]).mean.sum().item():.4g}")
points = torch.rand(30, 3)
front = points[is_non_dominated(points)]
print("front", len(front), f"{Hypervolume(torch.zeros(3)).compute(front):.4g}")
drawn = draw_sobol_samples(bounds, n=4, q=2, seed=3)
print("sobol", f"{drawn.sum().item():.5g} {drawn[0, 0, 0].item():.5g}")
