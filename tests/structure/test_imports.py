"""Which folder and top-level module may use which, that no modules use each other in a
circle, and what tracing an op imports.
"""

import re
import subprocess
import sys
from functools import cache

import pytest

from tests.structure.imports import (
    SOURCES,
    cycles,
    executed_modules,
    modules_of,
    used_modules,
)
from tests.unmeasured import environment

# Every folder; what it may use of the project beside itself.
ENGINE = {
    "abi": set(),
    "ir": {"abi", "ir/primitives"},
    "ir/primitives": {"ir"},
    "transforms": {"ir", "ir/primitives"},
    "passes": {"ir", "ir/primitives"},
    "composites": {"abi"},
    "declare": {
        *("abi", "ir", "ir/primitives", "transforms", "passes", "composites"),
    },
    "catalogue/routines": set(),
    "catalogue": {"ir", "declare", "composites", "catalogue/routines"},
    "codegen": {"abi", "ir", "codegen/elementary"},
    "codegen/elementary": {"codegen"},
    "codegen/targets": {"codegen"},
    "codegen/schedules": {
        *("abi", "ir", "ir/primitives"),
        *("codegen", "codegen/elementary", "codegen/targets"),
    },
    "pack": {"abi", "codegen", "codegen/schedules", "codegen/targets"},
    "lower": {
        *("abi", "ir", "ir/primitives", "passes", "codegen", "codegen/schedules"),
    },
    "devices": {"abi", "ir", "ir/primitives", "codegen", "codegen/schedules"},
    "gpu": {
        *("abi", "ir", "codegen", "codegen/schedules"),
    },
    "specialise": {
        *("abi", "ir", "ir/primitives", "transforms", "passes", "declare"),
        *("codegen", "lower"),
    },
}
# What every part of the API may use, beside the runtime (`_C`).
BASE = {"_package/calls", "_tensor"}
# Every folder and top-level module, by subject.
API = {
    # What every part may use
    "_package/calls": set(),
    "_tensor": set(),
    # The package, ops, and what the runtime imports
    "_package": set(),
    "_C": {"distributed", "distributed/_group", "func"},
    "_C/_runtime": {"_ops", "pellucid_compiler"},
    "_ops": {"_package", "ao/_quantized", "utils/_cpp"},
    "_decomp": {"_C/_runtime", "_functions", "_ops", "pellucid_compiler"},
    "_functions": {
        *("_C/_runtime", "_ops", "linalg", "pellucid_compiler", "storage", "utils"),
        *("utils/_symbolic",),
    },
    "_utils": {"_package", "accelerator", "serialization/_format"},
    "_tensor_str": set(),
    "return_types": set(),
    "types": {"storage", "utils/_symbolic"},
    # Kinds of tensors
    "ao/_quantized": {
        *(
            "_decomp",
            "_functions",
            "_ops",
            "autograd",
            "backends",
            "nested/_ops",
            "nn",
            "pellucid_compiler",
        ),
    },
    "sparse": {"_ops", "sparse/_ops"},
    "sparse/_ops": {"_functions", "_ops", "autograd", "linalg", "pellucid_compiler"},
    "nested": {"nested/_ops"},
    "nested/_ops": {"_ops", "ao/_quantized", "autograd", "utils/_symbolic"},
    "masked": {"_functions", "linalg", "masked/maskedtensor", "sparse/_ops"},
    "masked/maskedtensor": {
        *("_decomp", "_ops", "autograd", "masked", "overrides", "sparse/_ops"),
    },
    # Functions of tensors
    "fft": set(),
    "linalg": set(),
    "special": set(),
    "signal": set(),
    "functional": set(),
    "random": {"_package"},
    "quasirandom": set(),
    "testing": {"_functions"},
    # Gradients and function transforms
    "autograd": {"_C/_runtime", "func", "profiler", "utils/_pytree"},
    "func": {"nn/modules", "random", "utils", "utils/_pytree"},
    "overrides": {"_package", "fft", "linalg", "nn", "special"},
    # Ops of libraries
    "_library": {"_ops", "autograd", "testing", "utils", "utils/_pytree"},
    "_library/audio": {"_library"},
    "_library/vision": {"_library", "_ops", "autograd"},
    "_custom_ops": set(),
    "library": {"_library"},
    "ops": {"_ops"},
    # Layers and training
    "nn": {
        *("_C/_runtime", "_ops", "_package", "linalg", "nn/_functional", "nn/modules"),
        *("nn/parallel", "nn/utils"),
    },
    "nn/_functional": {"_functions", "pellucid_compiler", "sparse/_ops", "utils"},
    "nn/attention": {"nn"},
    "nn/modules": {
        *("__future__", "_package", "amp", "distributed/nn", "nested/_ops", "nn"),
        *("nn/_functional", "pellucid_compiler", "utils"),
    },
    "nn/parallel": {
        *(
            "_functions",
            "amp",
            "autograd",
            "distributed",
            "distributed/algorithms",
            "func",
        ),
        *("nn/modules", "random", "utils/_pytree"),
    },
    "nn/utils": {"_functions", "func", "linalg", "nn", "nn/modules"},
    "optim": {"_functions", "_package", "nn", "nn/modules", "sparse/_ops", "utils"},
    "amp": set(),
    "distributions": {"_functions", "linalg", "nn", "special"},
    # Quantization
    "ao": set(),
    "ao/nn": set(),
    "ao/nn/intrinsic": {"nn"},
    "ao/nn/intrinsic/qat": {"ao/nn/qat", "nn", "nn/utils"},
    "ao/nn/intrinsic/quantized": {"ao/_quantized", "ao/nn/quantized"},
    "ao/nn/intrinsic/quantized/dynamic": {"ao/nn/quantized/dynamic"},
    "ao/nn/qat": {"nn"},
    "ao/nn/qat/dynamic": set(),
    "ao/nn/quantizable": {
        *("ao/_quantized", "ao/nn/quantized", "ao/quantization", "nn"),
    },
    "ao/nn/quantized": {"ao/_quantized", "nn"},
    "ao/nn/quantized/dynamic": {"ao/_quantized", "ao/nn/quantized", "nn", "nn/utils"},
    "ao/nn/quantized/reference": {"nn"},
    "ao/nn/sparse": {"ao/nn/sparse/quantized"},
    "ao/nn/sparse/quantized": {
        *("ao/_quantized", "ao/nn/quantized", "ao/quantization", "nn"),
    },
    "ao/ns": {"ao/quantization", "nn"},
    "ao/pruning": {"nn", "nn/utils"},
    "ao/quantization": {
        *(
            "_functions",
            "ao/_quantized",
            "ao/nn/intrinsic",
            "ao/nn/intrinsic/qat",
        ),
        *("ao/nn/intrinsic/quantized", "ao/nn/intrinsic/quantized/dynamic"),
        *("ao/nn/qat", "ao/nn/qat/dynamic", "ao/nn/quantizable", "ao/nn/quantized"),
        *("ao/nn/quantized/dynamic", "ao/nn/sparse/quantized", "ao/ns"),
        "ao/quantization/backend_config",
        *("ao/quantization/fx", "fx", "nn", "nn/modules", "nn/utils"),
        "utils/_pytree",
    },
    "ao/quantization/backend_config": {
        *("ao/nn/intrinsic/qat", "ao/nn/qat", "ao/nn/quantized/reference"),
        *("ao/quantization", "nn"),
    },
    "ao/quantization/fx": {
        *("ao/_quantized", "ao/nn/intrinsic", "ao/nn/qat", "ao/nn/quantized"),
        *("ao/nn/quantized/reference", "ao/quantization"),
        *("ao/quantization/backend_config", "backends", "fx", "nn", "nn/utils"),
    },
    "nn/intrinsic": {
        *("ao/nn/intrinsic", "ao/nn/intrinsic/qat", "ao/nn/intrinsic/quantized"),
    },
    "nn/qat": {"ao/nn/qat", "ao/nn/qat/dynamic"},
    "nn/quantized": {"ao/nn/quantized", "ao/nn/quantized/dynamic"},
    "quantization": {"ao/quantization", "ao/quantization/fx"},
    # Graphs
    "fx": {
        *("_functions", "_ops", "fx/passes/utils", "jit", "nn", "overrides"),
        *("serialization", "utils/_pytree", "utils/_symbolic"),
    },
    "fx/experimental": {
        *("_decomp", "_ops", "_subclasses", "fx", "fx/passes", "nn", "nn/utils"),
        *("overrides", "random", "utils", "utils/_pytree", "utils/_symbolic"),
    },
    "fx/passes": {
        *("_functions", "_ops", "_subclasses", "fx", "fx/passes/infra"),
        *("fx/passes/utils", "nn", "utils/_symbolic"),
    },
    "fx/passes/dialect": set(),
    "fx/passes/dialect/common": {"_ops", "fx", "fx/passes/infra", "utils/_pytree"},
    "fx/passes/infra": {"fx", "fx/passes", "fx/passes/utils", "nn"},
    "fx/passes/utils": {"fx", "fx/passes", "nn"},
    "export": {
        *("_compile", "_decomp", "_dynamo", "_functions", "_ops", "_package"),
        *("_subclasses", "func", "fx", "fx/experimental", "fx/passes", "nn"),
        *("serialization", "utils/_pytree", "utils/_symbolic"),
    },
    "utils/_symbolic": set(),
    "_functorch": {
        *("_compile", "_ops", "_subclasses", "autograd", "func", "fx"),
        *("fx/experimental", "nn", "utils", "utils/_pytree"),
    },
    "_functorch/exports": {
        *("_functorch", "func", "fx", "fx/experimental", "nn", "version"),
    },
    "_guards": {"_subclasses", "utils", "utils/_pytree"},
    "_higher_order_ops": {"_ops", "func", "utils", "utils/_pytree", "utils/_symbolic"},
    "_subclasses": {
        *("_decomp", "_library", "_ops", "nn", "utils", "utils/_pytree"),
        *("utils/_symbolic",),
    },
    "jit": {"futures", "nn", "utils", "utils/_pytree"},
    "_jit_internal": {"futures", "jit"},
    "onnx": set(),
    # Compilation
    "_compile": {
        *("_C/_runtime", "_compile/capture", "_dynamo", "_dynamo/backends"),
        *("_functorch", "_ops", "_package", "nn", "nn/modules", "pellucid_compiler"),
    },
    "_compile/capture": {
        *("_compile", "_dynamo", "_dynamo/backends", "_ops", "_subclasses", "fx", "nn"),
        *("overrides", "utils/_pytree"),
    },
    "_dynamo": {
        *("_compile", "_compile/capture", "_dynamo/backends", "_functorch"),
        *("_ops", "fx", "fx/experimental", "nn", "overrides", "utils"),
        *("utils/_pytree",),
    },
    "_inductor": {"_compile", "_dynamo", "export", "utils"},
    "_logging": set(),
    "_dynamo/backends": {"_compile", "_dynamo", "_functorch", "_package"},
    "compiler": {"_compile", "_dynamo", "_dynamo/backends", "utils", "utils/_pytree"},
    # Files, memory, data
    "storage": {"_package"},
    "serialization": {"serialization/_format", "utils/serialization"},
    "serialization/_format": {
        *("ao/_quantized", "nested/_ops", "nn", "sparse/_ops", "storage"),
        *("overrides", "utils/serialization"),
    },
    "safetensors": set(),
    "hub": {"_functions", "serialization"},
    "package": {"serialization", "serialization/_format", "storage", "utils"},
    "multiprocessing": {"storage"},
    "futures": set(),
    "utils": {
        *(
            "_C/_runtime",
            "_functions",
            "_ops",
            "_package",
            "amp",
            "autograd",
            "cuda",
            "hub",
            "nn",
            "nn/modules",
        ),
        *("nn/utils", "overrides", "profiler/_timeline", "random", "sparse/_ops"),
        *("storage", "utils/_cpp", "utils/_pytree"),
    },
    "utils/_cpp": {"pellucid_compiler"},
    "utils/_pytree": set(),
    "utils/data": {
        *("_utils", "distributed", "multiprocessing", "random", "storage"),
        *("utils/data/datapipes", "utils/data/datapipes/iter"),
    },
    "utils/data/_utils": {"utils/data"},
    "utils/data/datapipes": {
        *("utils/data", "utils/data/datapipes/iter", "utils/data/datapipes/map"),
    },
    "utils/data/datapipes/iter": {
        *("utils/data", "utils/data/datapipes", "utils/data/datapipes/utils"),
    },
    "utils/data/datapipes/map": {"utils/data/datapipes", "utils/data/datapipes/utils"},
    "utils/data/datapipes/utils": set(),
    "utils/serialization": set(),
    "utils/tensorboard": {"nn", "nn/modules", "utils", "utils/_pytree"},
    # What a program does and what it costs
    "explain": {
        *("_compile", "_functions", "ao/quantization", "autograd", "devices"),
        *(
            "export",
            "memory",
            "overrides",
            "pellucid_compiler",
            "profiler/_timeline",
            "utils",
        ),
        *("utils/_pytree", "viz"),
    },
    "viz": {"nn/modules", "profiler/_timeline", "viz/training_report"},
    "viz/training_report": {"nn", "nn/utils", "optim", "viz"},
    "tour": {"explain", "profiler/_timeline"},
    "profiler": {"_decomp", "_package", "pellucid_compiler", "profiler/_timeline"},
    "profiler/_timeline": {"pellucid_compiler"},
    "diagnose": {
        *("_compile", "_dynamo", "diagnose/rules", "memory", "nn", "nn/modules"),
        *("optim", "pellucid_compiler", "profiler", "profiler/_timeline", "run"),
        *("utils/_pytree", "viz"),
    },
    "diagnose/rules": {"_ops", "diagnose", "profiler/_timeline", "utils"},
    "memory": {"optim", "profiler/_timeline"},
    "monitor": set(),
    # Devices and settings
    "accelerator": {"_package"},
    "backends": {"_package"},
    "cpu": {"amp", "memory"},
    "cuda": {"_package"},
    "cuda/amp": {"amp"},
    "devices": {
        *("_C/_runtime", "_package", "autograd", "cuda", "nn", "pellucid_compiler"),
        *("utils", "utils/_cpp"),
    },
    "devices/check": {
        *("_ops", "_package", "accelerator", "autograd", "nn", "nn/utils", "optim"),
        *("random", "serialization"),
    },
    "mps": {"_package"},
    "mtia": {"_package"},
    "xpu": {"_package"},
    "__config__": {"version"},
    "__future__": set(),
    "version": set(),
    "torch_version": set(),
    # Declarations, and programs that import torch
    "lang": {"pellucid_compiler"},
    "run": {"alias"},
    "alias": {"version"},
    "alias/site/torch": {"alias"},
    # Processes that work together
    "distributed": {
        *("_ops", "distributed/_group", "distributed/_stores", "library"),
        *("distributed/_transport",),
        *("distributed/elastic/agent/server", "distributed/elastic/multiprocessing"),
        *("distributed/elastic/multiprocessing/errors", "distributed/elastic/utils"),
        *("distributed/launcher", "cuda", "numa"),
    },
    "numa": {"cuda"},
    "distributed/_composable": {
        *("distributed", "distributed/fsdp", "nn", "nn/parallel", "utils"),
    },
    "distributed/_group": {
        *("distributed", "distributed/_stores", "distributed/_transport", "futures"),
        *("_package", "cuda", "devices"),
    },
    "distributed/_shard": {
        *("distributed", "distributed/_shard/sharded_tensor", "nn"),
        *("distributed/_shard/sharding_plan", "distributed/_shard/sharding_spec"),
    },
    "distributed/_shard/sharded_optim": {
        *("distributed/_shard/sharded_tensor", "nn", "optim"),
    },
    "distributed/_shard/sharding_plan": {
        *("distributed/_shard", "distributed/_shard/sharding_spec", "nn"),
    },
    "distributed/_shard/sharded_tensor": {
        *("distributed/_shard", "distributed/_shard/sharding_spec"),
        *("distributed/checkpoint", "nn", "overrides"),
    },
    "distributed/_shard/sharding_spec": {
        *("distributed", "distributed/_shard", "distributed/_shard/sharded_tensor"),
        *("distributed/tensor",),
    },
    "distributed/_stores": set(),
    "distributed/_tensor": {
        *("distributed", "distributed/tensor", "distributed/tensor/experimental"),
    },
    "distributed/_transport": {"distributed/_stores", "utils/_cpp"},
    "distributed/algorithms": set(),
    "distributed/algorithms/_checkpoint": {
        *("autograd", "distributed", "distributed/fsdp", "nn", "utils"),
    },
    "distributed/algorithms/ddp_comm_hooks": {
        *("distributed/optim", "futures", "linalg", "nn"),
    },
    "distributed/algorithms/model_averaging": set(),
    "distributed/autograd": {"distributed/rpc"},
    "distributed/checkpoint": {
        *(
            "accelerator",
            "cuda",
            "distributed/fsdp",
            "distributed/tensor",
            "futures",
            "multiprocessing",
        ),
        *("nn", "nn/parallel", "optim", "safetensors", "serialization"),
        *("serialization/_format",),
    },
    "distributed/elastic": set(),
    "distributed/elastic/agent": set(),
    "distributed/elastic/agent/server": {
        *("distributed/_stores", "distributed/elastic/events"),
        *("distributed/elastic/metrics", "distributed/elastic/timer"),
        *("distributed/elastic/multiprocessing", "distributed/elastic/rendezvous"),
        *("distributed/elastic/multiprocessing/errors", "distributed/elastic/utils"),
    },
    "distributed/elastic/events": set(),
    "distributed/elastic/metrics": set(),
    "distributed/elastic/multiprocessing": {
        "numa",
        *("distributed/elastic/multiprocessing/errors",),
        *("distributed/elastic/multiprocessing/subprocess_handler",),
    },
    "distributed/elastic/multiprocessing/errors": set(),
    "distributed/elastic/multiprocessing/subprocess_handler": {"numa"},
    "distributed/elastic/rendezvous": {
        *("distributed/_stores", "distributed/elastic/utils"),
    },
    "distributed/elastic/timer": set(),
    "distributed/elastic/utils": {"distributed/_stores"},
    "distributed/elastic/utils/data": {"utils/data"},
    "distributed/flight_recorder": {"distributed/flight_recorder/components"},
    "distributed/flight_recorder/components": set(),
    "distributed/_tools": {
        *("autograd", "memory", "nn", "optim", "profiler/_timeline", "utils"),
        "utils/_pytree",
    },
    "distributed/fsdp": {
        *("amp", "autograd", "distributed", "distributed/tensor", "nn", "nn/utils"),
        *("utils", "utils/_pytree"),
    },
    "distributed/launcher": {
        *("distributed/elastic/agent/server", "distributed/elastic/multiprocessing"),
        "distributed/elastic/metrics",
        *("distributed/elastic/multiprocessing/errors",),
        *("distributed/elastic/rendezvous",),
    },
    "distributed/nn": {"autograd", "distributed/nn/api"},
    "distributed/nn/api": {"distributed/rpc", "futures", "nn"},
    "distributed/optim": {
        *("distributed/algorithms", "distributed/autograd", "distributed/fsdp"),
        *("distributed/rpc", "nn", "optim"),
    },
    "distributed/pipelining": {
        *("_ops", "autograd", "export", "fx", "fx/experimental", "nn", "utils/_pytree"),
    },
    "distributed/rpc": {
        *("autograd", "distributed", "distributed/_stores", "distributed/_transport"),
        *("cuda", "futures"),
    },
    "distributed/tensor": {
        *("autograd", "distributed", "explain", "nn", "pellucid_compiler"),
        *("random", "utils/_pytree"),
    },
    "distributed/tensor/debug": {
        *("_ops", "distributed", "distributed/_group", "distributed/tensor", "utils"),
        *("utils/_pytree",),
    },
    "distributed/tensor/experimental": {
        *("autograd", "distributed", "distributed/tensor", "nn", "overrides"),
        *("utils/_pytree",),
    },
    "distributed/tensor/parallel": {"distributed", "distributed/tensor", "nn"},
}
RULES = {"pellucid_compiler": ENGINE, "pellucid": API}
# Uses that close a circle, each inside a function and inside one folder, with the
# reason. Without them no module uses itself by way of others.
DELIBERATE = {
    ("pellucid_compiler.ir.expr", "pellucid_compiler.ir.show"): "an Expr's repr",
    (
        "pellucid_compiler.ir.primitives.loop",
        "pellucid_compiler.ir.kinds",
    ): "a loop prints its kind",
    (
        "pellucid.fx.node",
        "pellucid.fx.operator_schemas",
    ): "a node gives its arguments by the names of the target's signature",
    (
        "pellucid.fx.experimental.proxy_tensor",
        "pellucid.fx.experimental.symbolic_trace",
    ): "make_fx has a mode that makes several traces",
    (
        "pellucid.export.exported_program",
        "pellucid.export.decomposed",
    ): "run_decompositions traces the program again",
    (
        "pellucid.fx._persistence",
        "pellucid.fx._symbolic_trace",
    ): "a pickle holds code, which is traced when it is loaded",
    (
        "pellucid.fx._persistence",
        "pellucid.fx.graph_module",
    ): "and becomes a GraphModule again",
    (
        "pellucid_compiler.transforms.jvp",
        "pellucid_compiler.transforms.transpose",
    ): "a hand rule is linear in its cotangents: its derivative is its transpose",
}
MOST_DELIBERATE = 8  # may only fall
MOST_IN_A_CIRCLE = 3  # modules; may only fall
MOST_FOLDERS_IN_A_CIRCLE = 29  # and top-level modules; may only fall


@cache
def uses_of(package, used=used_modules):
    modules = modules_of(package)
    return {name: used(name, path, modules) for name, path in modules.items()}


def folder_of(module, package):
    """The folder of a module, or the module itself at the package's top level."""
    if not module.startswith(f"{package}."):
        return module
    inner = module.removeprefix(f"{package}.")
    is_folder = (SOURCES / module.replace(".", "/")).is_dir()
    folder = inner if is_folder else inner.rpartition(".")[0]
    return (folder or inner).replace(".", "/")


@cache
def uses_of_folders(package):
    actual = {}
    for module, used in uses_of(package).items():
        if module != package:
            own = folder_of(module, package)
            actual.setdefault(own, set()).update(folder_of(m, package) for m in used)
    return {own: used - {own} for own, used in actual.items()}


@pytest.mark.parametrize("package", RULES)
def test_every_folder_and_module_has_a_rule(package):
    assert set(uses_of_folders(package)) == set(RULES[package])


@pytest.mark.parametrize(
    ("package", "name"), [(p, name) for p, rules in RULES.items() for name in rules]
)
def test_folders_use_what_they_may_and_no_rule_is_wider(package, name):
    used = uses_of_folders(package)[name]
    assert used - BASE == RULES[package][name]


def test_the_table_of_the_engine_says_the_same():
    text = (SOURCES / "pellucid_compiler" / "README.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \|[^|]*\|([^|]*)\|$", text, re.MULTILINE)
    stated = {name: set(re.findall(r"`(\w+)`", uses)) for name, uses in rows}
    tops: dict[str, set[str]] = {}
    for name, uses in ENGINE.items():
        own = name.partition("/")[0]
        tops.setdefault(own, set()).update(used.partition("/")[0] for used in uses)
    assert stated == {name: uses - {name} for name, uses in tops.items()}


STATED = re.compile(r"^May import: (nothing|[^.]+)\.\n\Z", re.MULTILINE)
READMES = [
    (package, readme.parent.relative_to(SOURCES / package).as_posix(), readme)
    for package in RULES
    for readme in sorted((SOURCES / package).rglob("README.md"))
]
# No folder of these has modules of its own that a rule is about.
WITHOUT_RULES = {".", "include/pellucid/cuda", "include/pellucid/torch"}


def stated_imports(text):
    """The names of the last line of a README, ``May import``; None without it."""
    stated = STATED.search(text)
    if stated is None:
        return None
    listed = " ".join(stated[1].split())
    names = set() if listed == "nothing" else set(listed.split(", "))
    bare = {name.strip("`") for name in names if re.fullmatch("`[^`]+`", name)}
    engine = {"pellucid_compiler"} if "the engine" in names else set()
    assert len(bare) + len(engine) == len(names), stated[0]
    return bare | engine


def shortened(uses, stated):
    """The folders of a rule, those below ``a`` as ``a/*`` where the README says so."""
    short = [name.removesuffix("*") for name in stated if name.endswith("/*")]
    return {next((f"{s}*" for s in short if use.startswith(s)), use) for use in uses}


@pytest.mark.parametrize(
    ("package", "folder", "readme"), READMES, ids=lambda value: str(value)[-40:]
)
def test_a_readme_says_what_its_folder_may_import(package, folder, readme):
    stated = stated_imports(readme.read_text())
    if folder in WITHOUT_RULES:
        assert stated is None
    else:
        assert stated == shortened(RULES[package][folder], stated)


def test_a_line_of_a_readme_is_read_whole():
    text = "# a\n\nMay import: `b`, `nn/*`,\nthe engine.\n"
    assert stated_imports(text) == {"b", "nn/*", "pellucid_compiler"}
    uses = {"b", "nn/utils", "nn/modules", "nn"}
    assert shortened(uses, {"b", "nn/*"}) == {"b", "nn/*", "nn"}
    assert stated_imports("May import: `b`.\nMore.\n") is None
    with pytest.raises(AssertionError):
        stated_imports("May import: `b` and `c`.\n")


@pytest.mark.parametrize("name", sorted(BASE))
def test_what_everything_uses_uses_nothing_above(name):
    assert uses_of_folders("pellucid")[name] <= BASE
    assert name == "_tensor" or not uses_of_folders("pellucid")[name]


@pytest.mark.parametrize("package", RULES)
def test_no_modules_import_each_other_in_a_circle(package):
    assert not cycles(uses_of(package, executed_modules))


@pytest.mark.parametrize("package", RULES)
def test_no_modules_use_each_other_in_a_circle(package):
    deliberate = {edge for edge in DELIBERATE if edge[0].split(".")[0] == package}
    uses = uses_of(package)
    assert all(used in uses[user] for user, used in deliberate), "one is not needed"
    without = {
        user: {used for used in actual if (user, used) not in deliberate}
        for user, actual in uses.items()
    }
    assert not cycles(without)
    for user, used in deliberate:
        assert cycles({**without, user: without[user] | {used}}), (user, used)


def test_circles_are_few_and_small_and_each_is_in_one_folder():
    actual = [group for package in RULES for group in cycles(uses_of(package))]
    assert max(map(len, actual)) == MOST_IN_A_CIRCLE
    assert len(DELIBERATE) == MOST_DELIBERATE
    for group in actual:
        assert len({tuple(module.split(".")[:2]) for module in group}) == 1, group


def test_no_further_folders_use_each_other_in_a_circle():
    groups = cycles({name: uses & API.keys() for name, uses in API.items()})
    assert max(map(len, groups)) == MOST_FOLDERS_IN_A_CIRCLE


SOURCE = """
from __future__ import annotations
import pellucid as torch
from pellucid import nn
from pellucid import optim
from pellucid import SymInt

class Layer(nn.Module):
    def forward(self, x: torch.Stream):
        return torch.save(x)

def name(size=torch.finfo(torch.float32)):
    return torch._C._get_accelerator
"""


def test_names_of_the_package_are_uses_of_their_modules(tmp_path):
    path = tmp_path / "source.py"
    path.write_text(SOURCE)
    arguments = "pellucid.own", path, modules_of("pellucid")
    executed = {
        *("pellucid.nn", "pellucid._functions.type_info", "pellucid._functions"),
        *("pellucid.utils._symbolic.numbers", "pellucid.utils._symbolic"),
        "pellucid.utils",
    }
    assert executed_modules(*arguments) - {"pellucid"} == executed
    called = {"pellucid.serialization", "pellucid.accelerator", "pellucid.optim"}
    used = executed - {"pellucid._functions", "pellucid.utils"}
    used -= {"pellucid.utils._symbolic"}
    assert used_modules(*arguments) - {"pellucid"} == used | called


def test_the_engine_never_uses_the_api():
    outside = {m for used in uses_of("pellucid_compiler").values() for m in used}
    assert all(module.startswith("pellucid_compiler") for module in outside)


TRACE = """
import sys
sys.path.insert(0, sys.argv[1])
from pellucid_compiler import catalogue
from pellucid_compiler.declare import REGISTRY
from pellucid_compiler.declare.key import NumberKey, StaticKey, TensorKey
op = REGISTRY["softmax.int"]
key = (TensorKey("float32", 2), StaticKey(1), StaticKey(None))
traced = op.trace(key, {"self.0": 3, "self.1": 4})
traced.backward([True]).graph
REGISTRY["softplus"].element_graph(
    (TensorKey("float32", 0), NumberKey("weakint"), NumberKey("weakint"))
)
heavy = {"numpy", "llvmlite", "dataclasses", "inspect", "pellucid"} & set(sys.modules)
assert not heavy, heavy
"""


def test_tracing_and_differentiating_import_nothing_heavy():
    command = [sys.executable, "-c", TRACE, str(SOURCES)]
    done = subprocess.run(command, timeout=60, env=environment())
    assert done.returncode == 0
