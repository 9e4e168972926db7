"""Names under the modules in which PyTorch defines them, where ours are in others.

``from torch.nn.modules.upsampling import Upsample``: PyTorch has a file per kind of
layer, here several kinds share one. Modules that no file of ours defines are made when
they are imported; a module of ours takes the names that it lacks by ``elsewhere``.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType

TYPE_CHECKING = False  # importing typing takes a fifth of the package's import
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

_PACKAGE = "pellucid"

# Of PyTorch's modules: names, by our module.
HOMES = {
    "nn.modules.activation": {"nn.modules.transformer": "MultiheadAttention"},
    "nn.modules.batchnorm": {
        "nn.modules.lazy": "LazyBatchNorm1d LazyBatchNorm2d LazyBatchNorm3d"
    },
    "nn.modules.channelshuffle": {"nn.modules.vision": "ChannelShuffle"},
    "nn.modules.container": {
        "nn.modules.parameter_container": "ParameterDict ParameterList"
    },
    "nn.modules.conv": {
        "nn.modules.lazy": "LazyConv1d LazyConv2d LazyConv3d LazyConvTranspose1d "
        "LazyConvTranspose2d LazyConvTranspose3d"
    },
    "nn.modules.fold": {"nn.modules.vision": "Fold Unfold"},
    "nn.modules.instancenorm": {
        "nn.modules.lazy": "LazyInstanceNorm1d LazyInstanceNorm2d LazyInstanceNorm3d"
    },
    "nn.modules.linear": {"nn.modules.lazy": "LazyLinear"},
    "nn.modules.linear_cross_entropy": {"nn.modules.loss": "LinearCrossEntropyLoss"},
    "nn.modules.linear_cross_entropy_options": {
        "nn.modules.loss": "LinearCrossEntropyOptions"
    },
    "nn.modules.loss": {
        "nn.modules.margin_loss": "CTCLoss CosineEmbeddingLoss GaussianNLLLoss "
        "HingeEmbeddingLoss MarginRankingLoss MultiLabelMarginLoss "
        "MultiLabelSoftMarginLoss MultiMarginLoss NLLLoss2d PoissonNLLLoss "
        "SoftMarginLoss TripletMarginLoss TripletMarginWithDistanceLoss"
    },
    "nn.modules.pixelshuffle": {"nn.modules.vision": "PixelShuffle PixelUnshuffle"},
    "nn.modules.upsampling": {
        "nn.modules.vision": "Upsample UpsamplingBilinear2d UpsamplingNearest2d"
    },
    "optim.adadelta": {"optim.adagrad": "Adadelta"},
    "optim.adamax": {"optim.adam_variants": "Adamax"},
    "optim.asgd": {"optim.sgd_variants": "ASGD"},
    "optim.nadam": {"optim.adam_variants": "NAdam"},
    "optim.radam": {"optim.adam_variants": "RAdam"},
    "optim.rprop": {"optim.sgd_variants": "Rprop"},
    "utils.benchmark.utils": {},
    "utils.benchmark.utils.common": {
        "utils.benchmark": "Measurement TaskSpec ordered_unique select_unit "
        "set_torch_threads trim_sigfig unit_to_english"
    },
    "utils.benchmark.utils.compare": {"utils.benchmark": "Colorize Compare"},
    "utils.benchmark.utils.fuzzer": {
        "utils.benchmark": "FuzzedParameter FuzzedTensor Fuzzer ParameterAlias"
    },
    "utils.benchmark.utils.sparse_fuzzer": {"utils.benchmark": "FuzzedSparseTensor"},
    "utils.benchmark.utils.timer": {"utils.benchmark": "Language Timer timer"},
}


def elsewhere(module: str) -> Callable[[str], Any]:
    """The ``__getattr__`` of a module, which finds the names that are in others."""
    homes = HOMES[module.removeprefix(f"{_PACKAGE}.")]
    place_of = {name: place for place, names in homes.items() for name in names.split()}

    def find(name: str) -> Any:
        if name not in place_of:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        return getattr(import_module(f"{_PACKAGE}.{place_of[name]}"), name)

    return find


class _HomeFinder:
    """Finds the modules of the table that have no file. It is asked last."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: object = None
    ) -> ModuleSpec | None:
        package, _, place = name.partition(".")
        if package != _PACKAGE or place not in HOMES:
            return None
        is_package = any(other.startswith(f"{place}.") for other in HOMES)
        return ModuleSpec(name, self, is_package=is_package)  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        _, _, place = module.__name__.partition(".")
        names = " ".join(HOMES[place].values()).split()
        module.__doc__ = "Names that PyTorch defines in this module."
        module.__all__ = names  # type: ignore[attr-defined]
        module.__getattr__ = elsewhere(module.__name__)  # type: ignore[method-assign]


def find_homes() -> None:
    """Let the modules of the table be imported."""
    sys.meta_path.append(_HomeFinder())
