"""``distributions``: probabilities, samples and their gradients.

One file for each distribution, named as in PyTorch. Read ``distribution.py`` first,
then ``normal.py`` and ``transforms.py``. Imported lazily.
"""

from pellucid.distributions import constraints as constraints
from pellucid.distributions import transforms as transforms
from pellucid.distributions.bernoulli import Bernoulli as Bernoulli
from pellucid.distributions.beta import Beta as Beta
from pellucid.distributions.binomial import Binomial as Binomial
from pellucid.distributions.categorical import Categorical as Categorical
from pellucid.distributions.cauchy import Cauchy as Cauchy
from pellucid.distributions.chi2 import Chi2 as Chi2
from pellucid.distributions.constraint_registry import biject_to as biject_to
from pellucid.distributions.constraint_registry import transform_to as transform_to
from pellucid.distributions.continuous_bernoulli import (
    ContinuousBernoulli as ContinuousBernoulli,
)
from pellucid.distributions.dirichlet import Dirichlet as Dirichlet
from pellucid.distributions.distribution import Distribution as Distribution
from pellucid.distributions.exp_family import ExponentialFamily as ExponentialFamily
from pellucid.distributions.exponential import Exponential as Exponential
from pellucid.distributions.fishersnedecor import FisherSnedecor as FisherSnedecor
from pellucid.distributions.gamma import Gamma as Gamma
from pellucid.distributions.generalized_pareto import (
    GeneralizedPareto as GeneralizedPareto,
)
from pellucid.distributions.geometric import Geometric as Geometric
from pellucid.distributions.gumbel import Gumbel as Gumbel
from pellucid.distributions.half_cauchy import HalfCauchy as HalfCauchy
from pellucid.distributions.half_normal import HalfNormal as HalfNormal
from pellucid.distributions.independent import Independent as Independent
from pellucid.distributions.inverse_gamma import InverseGamma as InverseGamma
from pellucid.distributions.kl import kl_divergence as kl_divergence
from pellucid.distributions.kl import register_kl as register_kl
from pellucid.distributions.kumaraswamy import Kumaraswamy as Kumaraswamy
from pellucid.distributions.laplace import Laplace as Laplace
from pellucid.distributions.lkj_cholesky import LKJCholesky as LKJCholesky
from pellucid.distributions.log_normal import LogNormal as LogNormal
from pellucid.distributions.logistic_normal import LogisticNormal as LogisticNormal
from pellucid.distributions.lowrank_multivariate_normal import (
    LowRankMultivariateNormal as LowRankMultivariateNormal,
)
from pellucid.distributions.mixture_same_family import (
    MixtureSameFamily as MixtureSameFamily,
)
from pellucid.distributions.multinomial import Multinomial as Multinomial
from pellucid.distributions.multivariate_normal import (
    MultivariateNormal as MultivariateNormal,
)
from pellucid.distributions.negative_binomial import (
    NegativeBinomial as NegativeBinomial,
)
from pellucid.distributions.normal import Normal as Normal
from pellucid.distributions.one_hot_categorical import (
    OneHotCategorical as OneHotCategorical,
)
from pellucid.distributions.one_hot_categorical import (
    OneHotCategoricalStraightThrough as OneHotCategoricalStraightThrough,
)
from pellucid.distributions.pareto import Pareto as Pareto
from pellucid.distributions.poisson import Poisson as Poisson
from pellucid.distributions.relaxed_bernoulli import (
    RelaxedBernoulli as RelaxedBernoulli,
)
from pellucid.distributions.relaxed_categorical import (
    RelaxedOneHotCategorical as RelaxedOneHotCategorical,
)
from pellucid.distributions.studentT import StudentT as StudentT
from pellucid.distributions.transformed_distribution import (
    TransformedDistribution as TransformedDistribution,
)
from pellucid.distributions.transforms import *
from pellucid.distributions.uniform import Uniform as Uniform
from pellucid.distributions.von_mises import VonMises as VonMises
from pellucid.distributions.weibull import Weibull as Weibull
from pellucid.distributions.wishart import Wishart as Wishart
