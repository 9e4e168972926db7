"""Writes files for TensorBoard's projector: vectors, labels, a sprite of images."""

from __future__ import annotations

import io
from collections.abc import Sequence
from math import ceil, sqrt
from typing import Any

import numpy as np
from google.protobuf import text_format
from tensorboard.compat import tf
from tensorboard.plugins.projector.projector_config_pb2 import (
    EmbeddingInfo,
    ProjectorConfig,
)

from pellucid.utils.tensorboard._layouts import make_grid

Array = np.ndarray[Any, Any]


class Embeddings:
    """The vectors that were logged into one directory, with the file that lists them.

    The list is rewritten each time: not every file system can append.
    """

    def __init__(self) -> None:
        self.listed = ProjectorConfig()

    def add(
        self,
        root: str,
        vectors: Array,
        metadata: Sequence[Any] | None,
        header: Sequence[str] | None,
        images: Array | None,
        step: int,
        tag: str,
    ) -> None:
        _check(vectors, metadata, images)
        folder = f"{str(step).zfill(5)}/{_file_name(tag)}"
        _make_folder(f"{root}/{folder}")
        info = EmbeddingInfo(tensor_name=f"{tag}:{str(step).zfill(5)}")
        info.tensor_path = f"{folder}/tensors.tsv"
        _write(f"{root}/{info.tensor_path}", _table(vectors.tolist()))
        if metadata is not None:
            info.metadata_path = f"{folder}/metadata.tsv"
            _write(f"{root}/{info.metadata_path}", _labels(metadata, header))
        if images is not None:
            info.sprite.image_path = f"{folder}/sprite.png"
            info.sprite.single_image_dim.extend([images.shape[3], images.shape[2]])
            _write(f"{root}/{info.sprite.image_path}", _sprite(images))
        self.listed.embeddings.append(info)
        listed = text_format.MessageToString(self.listed)
        _write(f"{root}/projector_config.pbtxt", listed.encode())


def _check(vectors: Array, metadata: Any, images: Array | None) -> None:
    if vectors.ndim != 2:
        raise AssertionError(
            f"embeddings are a matrix of a row each, given the shape {vectors.shape}"
        )
    for what, given in (("labels", metadata), ("images", images)):
        if given is not None and len(given) != len(vectors):
            raise AssertionError(
                f"{len(vectors)} embeddings need as many {what}, given {len(given)}"
            )


def _file_name(tag: str) -> str:
    """The tag with path separators escaped."""
    for letter in "%/\\":  # the escape itself first
        tag = tag.replace(letter, f"%{ord(letter):02x}")
    return tag


def _make_folder(path: str) -> None:
    files = tf.io.gfile
    if not files.exists(path):
        files.makedirs(path)
    elif files.isdir(path):
        print(f"warning: {path} exists already; was global_step given?")
    else:
        raise NotADirectoryError(f"{path} is a file; embeddings need a directory there")


def _write(path: str, content: bytes) -> None:
    with tf.io.gfile.GFile(path, "wb") as file:
        file.write(content)


def _table(rows: Sequence[Sequence[Any]]) -> bytes:
    lines = ("\t".join(str(each) for each in row) + "\n" for row in rows)
    return "".join(lines).encode()


def _labels(metadata: Sequence[Any], header: Sequence[str] | None) -> bytes:
    if not header:
        return _table([[label] for label in metadata])
    if len(header) != len(metadata[0]):
        raise AssertionError(
            f"{len(metadata[0])} columns of labels need as many names, given "
            f"{len(header)}"
        )
    return _table([header, *metadata])


def _sprite(images: Array) -> bytes:
    """All images as one sprite, as square as possible, as PNG."""
    from PIL import Image

    grid = make_grid(images, ceil(sqrt(len(images)))).transpose(1, 2, 0)
    height, width, _ = grid.shape
    scale = 1 if images.dtype == np.uint8 else 255
    canvas = np.zeros((max(height, width), width, 3))
    canvas[:height] = grid
    buffer = io.BytesIO()
    pixels = (canvas * scale).clip(0, 255).astype(np.uint8)
    Image.fromarray(pixels).save(buffer, format="PNG")
    return buffer.getvalue()
