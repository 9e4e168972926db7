"""The files of TensorBoard's projector: a matrix, its labels, its small images."""

from __future__ import annotations

import math
import os
from typing import Any

from pellucid.utils.tensorboard import summary


def write_embedding(
    folder: str, name: str, tag: str, matrix: Any, labels: tuple[Any, Any], images: Any
) -> None:
    """Writes them to ``folder/name`` and enters them in the projector's configuration.

    ``labels`` are one for each row, or rows of several, and the names of these.
    """
    values = summary.array(matrix)
    if values.ndim != 2:
        raise ValueError(f"mat has rows of numbers, and its shape is {values.shape}")
    place = os.path.join(folder, name)
    os.makedirs(place, exist_ok=True)
    entry = {"tensor_name": tag, "tensor_path": f"{name}/tensors.tsv"}
    with open(os.path.join(place, "tensors.tsv"), "w", encoding="utf-8") as file:
        file.writelines("\t".join(map(str, row)) + "\n" for row in values.tolist())
    metadata, header = labels
    if metadata is not None:
        _expect_rows("metadata", len(metadata), len(values))
        entry["metadata_path"] = f"{name}/metadata.tsv"
        rows = [*([header] if header else []), *metadata]
        with open(os.path.join(place, "metadata.tsv"), "w", encoding="utf-8") as file:
            file.writelines(_line(row) for row in rows)
    text = "".join(f'{key}: "{value}"\n' for key, value in entry.items())
    if images is not None:
        pixels = summary.array(images)
        _expect_rows("label_img", len(pixels), len(values))
        _write_sprite(pixels, os.path.join(place, "sprite.png"))
        height, width = pixels.shape[2:]
        sizes = f"single_image_dim: {width}\nsingle_image_dim: {height}\n"
        text += f'sprite {{\nimage_path: "{name}/sprite.png"\n{sizes}}}\n'
    with open(
        os.path.join(folder, "projector_config.pbtxt"), "a", encoding="utf-8"
    ) as file:
        file.write(f"embeddings {{\n{text}}}\n")


def _expect_rows(name: str, count: int, rows: int) -> None:
    if count != rows:
        raise ValueError(f"{name} has {count} entries, and mat has {rows} rows")


def _line(row: Any) -> str:
    several = isinstance(row, (list, tuple))
    return "\t".join(str(x) for x in (row if several else [row])) + "\n"


def _write_sprite(pixels: Any, path: str) -> None:
    """All images in one, in a square of rows and columns."""
    import numpy
    from PIL import Image

    count, channels, height, width = pixels.shape
    side = math.ceil(math.sqrt(count))
    whole = numpy.zeros((side * height, side * width, channels), numpy.float32)
    for k in range(count):
        y, x = k // side * height, k % side * width
        whole[y : y + height, x : x + width] = pixels[k].transpose(1, 2, 0)
    if pixels.dtype != numpy.uint8:
        whole = whole * 255
    bytes_ = whole.clip(0, 255).astype(numpy.uint8)
    Image.fromarray(bytes_[..., 0] if channels == 1 else bytes_).save(path)
