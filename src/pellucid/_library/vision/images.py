"""torchvision's reading and writing of images, implemented with Pillow.

Images are (channels, height, width) of uint8; files are vectors of bytes.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pellucid
from pellucid import Tensor
from pellucid._library.registration import Library

if TYPE_CHECKING:
    from PIL.Image import Image

# Pillow's name of each ImageReadMode; 0 leaves an image unchanged.
_MODES = {1: "L", 2: "LA", 3: "RGB", 4: "RGBA"}
# The mode to which ImageReadMode 0 converts images of other modes.
_PLAIN = {"1": "L", "P": "RGB", "PA": "RGBA", "YCbCr": "RGB", "CMYK": "RGB"}
_LIBRARY = Library("image", "DEF")
_BODIES: dict[str, Callable[..., Any]] = {}


def _op(schema: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def enter(body: Callable[..., Any]) -> Callable[..., Any]:
        _BODIES[schema] = body
        return body

    return enter


def define() -> None:
    """Define ``torch.ops.image``; once. OSError without Pillow."""
    try:
        import PIL  # noqa: F401
    except ImportError as error:
        raise OSError(
            "torchvision's images are read and written with Pillow, which is not "
            "installed: pip install pillow"
        ) from error
    for schema, body in _BODIES.items():
        _LIBRARY.impl(_LIBRARY.define(schema), body, "CompositeExplicitAutograd")


# ---------------------------------------------------------------- files


def _bytes_of(data: Tensor) -> bytes:
    if data.dim() != 1 or data.dtype != pellucid.uint8:
        raise RuntimeError(
            "a file is a vector of uint8, a tensor of shape "
            f"{tuple(data.shape)} and {data.dtype} was given"
        )
    return bytes(memoryview(data.contiguous().numpy()))


def _tensor_of(data: bytes) -> Tensor:
    return pellucid.frombuffer(bytearray(data), dtype=pellucid.uint8)


@_op("read_file(str filename) -> Tensor")
def read_file(filename: str) -> Tensor:
    """The bytes of a file."""
    try:
        with open(filename, "rb") as file:
            data = file.read()
    except FileNotFoundError as error:
        raise RuntimeError(
            f"[Errno 2] No such file or directory: '{filename}'"
        ) from error
    if not data:
        raise RuntimeError(f"the file {filename!r} is empty")
    return _tensor_of(data)


@_op("write_file(str filename, Tensor data) -> Tensor")
def write_file(filename: str, data: Tensor) -> Tensor:
    """Write bytes to a file."""
    content = _bytes_of(data)
    try:
        with open(filename, "wb") as file:
            file.write(content)
    except OSError as error:
        raise RuntimeError(str(error)) from error
    return data


# ---------------------------------------------------------------- decoding


def _opened(data: Tensor, kind: str = "") -> Image:
    from PIL import Image, UnidentifiedImageError

    try:
        image = Image.open(io.BytesIO(_bytes_of(data)))
    except UnidentifiedImageError as error:
        raise RuntimeError(
            "the bytes are not an image that Pillow knows (JPEG, PNG, GIF, WebP, ...)"
        ) from error
    if kind and image.format != kind:
        raise RuntimeError(f"the bytes are {image.format}, not {kind}")
    return image


def _loaded(image: Image, mode: int) -> Image:
    """The image in a mode whose channels are bytes."""
    wanted = _MODES.get(mode) if mode else _PLAIN.get(image.mode)
    if not mode and image.mode == "P" and "transparency" in image.info:
        wanted = "RGBA"
    if wanted == "L" and image.format == "JPEG":
        image.draft("L", None)  # the stored luminance
    if image.mode.startswith("I"):
        raise RuntimeError(
            "images of 16 bits per channel are not supported; convert them with Pillow"
        )
    try:
        return image if wanted in (None, image.mode) else image.convert(wanted)
    except OSError as error:
        raise RuntimeError(f"the image cannot be decoded: {error}") from error


def _pixels(image: Image) -> Tensor:
    """(channels, height, width)."""
    try:
        data = image.tobytes()
    except OSError as error:
        raise RuntimeError(f"the image cannot be decoded: {error}") from error
    shape = (image.height, image.width, len(image.getbands()))
    return _tensor_of(data).view(shape).permute(2, 0, 1)


def _decoded(data: Tensor, mode: int, upright: bool, kind: str) -> Tensor:
    from PIL import ImageOps

    image = _opened(data, kind)
    decoded = _loaded(image, mode)
    return _pixels(ImageOps.exif_transpose(decoded) if upright else decoded)


@_op("decode_png(Tensor data, int mode, bool apply_exif_orientation=False) -> Tensor")
def decode_png(data: Tensor, mode: int, upright: bool) -> Tensor:
    """The pixels of a PNG file."""
    return _decoded(data, mode, upright, "PNG").contiguous()


@_op("decode_jpeg(Tensor data, int mode, bool apply_exif_orientation=False) -> Tensor")
def decode_jpeg(data: Tensor, mode: int, upright: bool) -> Tensor:
    """The pixels of a JPEG file."""
    return _decoded(data, mode, upright, "JPEG")


@_op("decode_webp(Tensor encoded_data, int mode) -> Tensor")
def decode_webp(data: Tensor, mode: int) -> Tensor:
    """The pixels of a WebP file."""
    return _decoded(data, mode, False, "WEBP")


@_op("decode_image(Tensor data, int mode, bool apply_exif_orientation=False) -> Tensor")
def decode_image(data: Tensor, mode: int, upright: bool) -> Tensor:
    """The pixels of a file of any kind; of a GIF all frames."""
    if _opened(data).format == "GIF":
        frames: Tensor = decode_gif(data)
        return frames
    return _decoded(data, mode, upright, "")


@_op("decode_gif(Tensor encoded_data) -> Tensor")
def decode_gif(data: Tensor) -> Tensor:
    """The frames of a GIF file, or its only image."""
    from PIL import ImageSequence

    image = _opened(data, "GIF")
    frames = [_pixels(f.convert("RGB")) for f in ImageSequence.Iterator(image)]
    return frames[0] if len(frames) == 1 else pellucid.stack(frames)


# ---------------------------------------------------------------- encoding


def _image_of(pixels: Tensor, name: str) -> Image:
    from PIL import Image

    if pixels.dtype != pellucid.uint8:
        raise RuntimeError(f"{name}: pixels are uint8, {pixels.dtype} was given")
    if pixels.dim() != 3 or pixels.shape[0] not in (1, 3):
        raise RuntimeError(
            f"{name}: an image is (1 or 3, height, width), {tuple(pixels.shape)} was "
            "given"
        )
    rows: Any = pixels.permute(1, 2, 0).contiguous().numpy()
    image: Image.Image = Image.fromarray(
        rows[:, :, 0] if pixels.shape[0] == 1 else rows
    )
    return image


def _encoded(image: Image, kind: str, **options: Any) -> Tensor:
    file = io.BytesIO()
    image.save(file, kind, **options)
    return _tensor_of(file.getvalue())


@_op("encode_png(Tensor data, int compression_level) -> Tensor")
def encode_png(pixels: Tensor, compression_level: int) -> Tensor:
    """The bytes of a PNG file."""
    if not 0 <= compression_level <= 9:
        raise RuntimeError(
            f"encode_png: Compression level is between 0 and 9, {compression_level} "
            "was given"
        )
    image = _image_of(pixels, "encode_png")
    return _encoded(image, "PNG", compress_level=compression_level)


@_op("encode_jpeg(Tensor data, int quality) -> Tensor")
def encode_jpeg(pixels: Tensor, quality: int) -> Tensor:
    """The bytes of a JPEG file."""
    return _encoded(_image_of(pixels, "encode_jpeg"), "JPEG", quality=quality)
