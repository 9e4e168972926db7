"""For PyTorch's run: libraries whose compiled part is for CUDA, beside a CPU build.

torchvision's Python has ``roi_align`` as tensor ops; suppression of boxes and
torchaudio's recursive filters are written out here.
"""

import sys
from importlib.abc import MetaPathFinder
from typing import ClassVar

_HELD = []  # libraries of ops end with their object


def _nms(boxes, scores, threshold):
    import torch

    order = scores.sort(stable=True, descending=True).indices
    boxes = boxes[order]
    area = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    kept = torch.ones(len(boxes), dtype=torch.bool)
    for k in range(len(boxes)):
        if kept[k]:
            low = torch.maximum(boxes[k, :2], boxes[k + 1 :, :2])
            high = torch.minimum(boxes[k, 2:], boxes[k + 1 :, 2:])
            common = (high - low).clamp(min=0).prod(1)
            share = common / (area[k] + area[k + 1 :] - common)
            kept[k + 1 :] &= share.double() <= threshold
    return order[kept]


def _lfilter(signal, coefficients, padded):
    order = coefficients.shape[1] - 1
    for t in range(signal.shape[2]):
        before = padded[:, :, t : t + order] * coefficients[:, :order]
        padded[:, :, t + order] = signal[:, :, t] - before.sum(2)


def _overdrive(wave, driven, last_in, last_out, out):
    for t in range(wave.shape[-1]):
        last_out = driven[:, t] - last_in + 0.995 * last_out
        last_in = driven[:, t]
        out[:, t] = wave[:, t] * 0.5 + last_out * 0.75


def _define(namespace, ops):
    import torch

    library = torch.library.Library(namespace, "DEF")
    _HELD.append(library)
    for schema, body in ops.items():
        library.define(schema)
        library.impl(schema.partition("(")[0], body, "CompositeExplicitAutograd")


def _vision():
    boxes = "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"
    _define("torchvision", {f"nms{boxes}": _nms, f"qnms{boxes}": _nms})
    import torchvision.extension
    import torchvision.ops.boxes

    torchvision.ops.boxes._assert_has_ops = lambda: None


def _audio():
    import torch

    load = torch.ops.load_library
    torch.ops.load_library = lambda p: None if "torchaudio" in str(p) else load(p)
    queries = {"cuda_version() -> int": lambda: -1}
    queries["is_align_available() -> bool"] = lambda: False
    _define("_torchaudio", queries)
    filters = {
        "_lfilter_core_loop(Tensor x, Tensor a, Tensor(a!) p) -> ()": _lfilter,
        "_overdrive_core_loop(Tensor w, Tensor d, Tensor i, Tensor j, Tensor(a!) o) "
        "-> ()": _overdrive,
    }
    _define("torchaudio", filters)


class _Before(MetaPathFinder):
    """Defines a library's ops before it is first imported."""

    left: ClassVar = {"torchvision": _vision, "torchaudio": _audio}

    def find_spec(self, name, path=None, target=None):
        prepare = self.left.pop(name, None)
        if prepare is not None:
            prepare()
        return None


sys.meta_path.insert(0, _Before())
