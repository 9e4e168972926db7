"""Pictures and texts as a page holds them."""

from __future__ import annotations

import base64
import struct
import zlib
from typing import Any

from pellucid import Tensor

_MOST = 64  # pictures of one call


def sample(value: Any) -> dict[str, Any]:
    """A text, or pictures of a tensor of shape ``(H, W)``, ``(C, H, W)`` or
    ``(N, C, H, W)`` with 1 or 3 channels: bytes, or floats from 0 to 1.
    """
    if isinstance(value, str):
        return {"text": value}
    if not isinstance(value, Tensor):
        raise TypeError(f"a sample is a str or a Tensor, not {type(value).__name__}")
    images = _images(value.detach().cpu())
    return {"images": [_address(image) for image in images[:_MOST]]}


def _images(x: Tensor) -> Tensor:
    """Bytes of shape ``(N, H, W, C)``."""
    if not 2 <= x.dim() <= 4 or (x.dim() > 2 and x.size(-3) not in (1, 3)):
        raise ValueError(
            "pictures have the shape (H, W), (C, H, W) or (N, C, H, W) with 1 or 3 "
            f"channels; the tensor's is {tuple(x.shape)}"
        )
    x = x.reshape((1,) * (4 - x.dim()) + tuple(x.shape)).permute(0, 2, 3, 1)
    if x.is_floating_point():
        x = x.float().nan_to_num().clamp(0, 1).mul(255).round()
    return x.clamp(0, 255).byte()


def _address(image: Tensor) -> str:
    return "data:image/png;base64," + base64.b64encode(_png(image)).decode()


def _png(image: Tensor) -> bytes:
    """Of bytes of shape ``(H, W, C)`` (Portable Network Graphics, 3rd edition)."""
    height, width, channels = image.shape
    rows = image.contiguous().view(height, width * channels).numpy()
    filtered = b"".join(b"\0" + row.tobytes() for row in rows)  # filter 0: none
    color = 2 if channels == 3 else 0
    header = struct.pack("!IIBBBBB", width, height, 8, color, 0, 0, 0)
    parts = (b"IHDR", header), (b"IDAT", zlib.compress(filtered)), (b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(*part) for part in parts)


def _chunk(name: bytes, content: bytes) -> bytes:
    checked = struct.pack("!I", zlib.crc32(name + content))
    return struct.pack("!I", len(content)) + name + content + checked
