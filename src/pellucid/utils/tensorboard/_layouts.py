"""Converts images of any layout to height, width, channels; several to a grid."""

from __future__ import annotations

from math import ceil
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

_GRID_COLUMNS = 8
_ORDERS = {2: "HW", 3: "HWC", 4: "NCHW"}


def convert_to_HWC(tensor: Array, input_format: str) -> Array:
    """The image or images with layout ``input_format`` ("CHW", "nhwc", "HW" ...) as an
    array of height, width and channels; grey images get three equal channels, several
    images become a grid of up to eight columns.
    """
    letters = input_format.upper()
    order = _ORDERS.get(len(letters), "")
    if sorted(letters) != sorted(order):
        raise AssertionError(
            f"dataformats is {input_format!r}; expected an order of the letters HW, "
            "CHW or NCHW, each once"
        )
    if tensor.ndim != len(letters):
        raise AssertionError(
            f"the image has shape {tuple(tensor.shape)}, but dataformats "
            f"{input_format!r} names {len(letters)} dimensions"
        )
    ordered = tensor.transpose([letters.index(letter) for letter in order])
    if order == "NCHW":
        return make_grid(ordered, _GRID_COLUMNS).transpose(1, 2, 0)
    if order == "HW":
        ordered = ordered[:, :, None]
    return np.repeat(ordered, 3, axis=2) if ordered.shape[2] == 1 else ordered


def make_grid(images: Array, ncols: int) -> Array:
    """Images of shape (N, 1 or 3, H, W) in a grid with ``ncols`` columns, as one image
    of shape (3, H * rows, W * columns); the rest of the last row is black.
    """
    if images.ndim != 4 or images.shape[1] not in (1, 3):
        raise AssertionError(
            "several images need 4 dimensions and 1 or 3 channels, given the shape "
            f"(N, C, H, W) = {tuple(images.shape)}"
        )
    number, _, height, width = images.shape
    columns = min(number, ncols)
    rows = ceil(number / columns)
    cells = np.zeros((rows * columns, 3, height, width), images.dtype)
    cells[:number] = images
    cells = cells.reshape(rows, columns, 3, height, width)
    return cells.transpose(2, 0, 3, 1, 4).reshape(3, rows * height, columns * width)


def as_bytes(image: Array) -> Array:
    """Converts brightness to uint8: other dtypes are multiplied by 255, from 0 to 1,
    and clipped.
    """
    scale = 1 if image.dtype == np.uint8 else 255
    scaled: Array = (image.astype(np.float32) * scale).clip(0, 255)
    return scaled.astype(np.uint8)
