"""Names under the modules in which PyTorch defines them, where ours are in others.

``from torch.nn.modules.upsampling import Upsample``: PyTorch has a file per kind of
layer, here several kinds share one. Packages call ``put_homes`` last, for the modules
that no file of ours defines; a file of ours takes the names that it lacks by
``elsewhere``.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType

TYPE_CHECKING = False  # importing typing takes a fifth of the package's import
if TYPE_CHECKING:
    from collections.abc import Callable
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


def put_homes(namespace: dict[str, Any], package: str) -> None:
    """Put the modules of the table that a package lacks into its namespace."""
    for place, homes in HOMES.items():
        parent, _, name = f"{_PACKAGE}.{place}".rpartition(".")
        if parent == package and name not in namespace:
            namespace[name] = _module_of(f"{package}.{name}", homes)


def _module_of(full: str, homes: dict[str, str]) -> ModuleType:
    """A module of names that are in others, and its submodules."""
    made = sys.modules[full] = ModuleType(full, "Names that PyTorch defines here.")
    names = " ".join(homes.values()).split()
    made.__spec__ = ModuleSpec(full, None, is_package=not names)
    made.__package__ = made.__spec__.parent
    if not names:
        made.__path__ = []
    vars(made).update(__all__=names, __getattr__=elsewhere(full))
    put_homes(vars(made), full)
    made.__dir__ = lambda: sorted({*vars(made), *names})  # type: ignore[method-assign]
    return made
