"""Messages of images, boxes on images, figures, video and sound."""

from __future__ import annotations

import io
import wave
from math import ceil
from typing import Any

import numpy as np
from tensorboard.compat.proto.summary_pb2 import Summary

from pellucid.utils.tensorboard._arrays import as_array
from pellucid.utils.tensorboard._layouts import as_bytes, convert_to_HWC

Array = np.ndarray[Any, Any]

_LOUDEST = np.iinfo(np.int16).max


def image(
    tag: str, tensor: Any, rescale: float = 1, dataformats: str = "NCHW"
) -> Summary:
    """An image, or a grid of several, as PNG."""
    pixels = as_bytes(convert_to_HWC(as_array(tensor), dataformats))
    return Summary(value=[Summary.Value(tag=tag, image=make_image(pixels, rescale))])


def image_boxes(
    tag: str,
    tensor_image: Any,
    tensor_boxes: Any,
    rescale: float = 1,
    dataformats: str = "CHW",
    labels: list[str] | None = None,
) -> Summary:
    """An image with boxes (left, top, right, bottom) in red, with their labels."""
    pixels = as_bytes(convert_to_HWC(as_array(tensor_image), dataformats))
    drawn = make_image(pixels, rescale, as_array(tensor_boxes), labels)
    return Summary(value=[Summary.Value(tag=tag, image=drawn)])


def make_image(
    tensor: Array,
    rescale: float = 1,
    rois: Array | None = None,
    labels: list[str] | None = None,
) -> Summary.Image:
    from PIL import Image

    height, width, channels = tensor.shape
    picture = Image.fromarray(np.ascontiguousarray(tensor))
    if rois is not None:
        for index, box in enumerate(rois):
            _draw_box(picture, box.tolist(), labels[index] if labels else "")
    size = int(width * rescale), int(height * rescale)
    if size != picture.size:
        picture = picture.resize(size, Image.Resampling.LANCZOS)
    buffer = io.BytesIO()
    picture.save(buffer, format="PNG")
    return _image_message(height, width, channels, buffer)


def _image_message(
    height: int, width: int, channels: int, encoded: io.BytesIO
) -> Summary.Image:
    return Summary.Image(
        height=height,
        width=width,
        colorspace=channels,
        encoded_image_string=encoded.getvalue(),
    )


def _draw_box(picture: Any, box: list[float], label: str) -> None:
    from PIL import ImageDraw, ImageFont

    left, top, right, bottom = box
    draw = ImageDraw.Draw(picture)
    corners = [(left, top), (left, bottom), (right, bottom), (right, top), (left, top)]
    draw.line(corners, width=2, fill="Red")
    if not label:
        return
    font = ImageFont.load_default()
    x0, y0, x1, y1 = font.getbbox(label)
    margin = ceil(0.05 * (y1 - y0))
    baseline = bottom - (y1 - y0) - margin
    draw.rectangle([(left, baseline - margin), (left + x1 - x0, bottom)], fill="Red")
    draw.text((left + margin, baseline), label, fill="black", font=font)


def figure_to_image(figures: Any, close: bool = True) -> Array:
    """A Matplotlib figure as (3, height, width), several as (N, 3, height, width)."""
    from matplotlib import pyplot
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    def drawn(figure: Any) -> Array:
        canvas: Any = FigureCanvasAgg(figure)  # has types only where it is installed
        canvas.draw()
        pixels = np.asarray(canvas.buffer_rgba())[:, :, :3].transpose(2, 0, 1).copy()
        if close:
            pyplot.close(figure)
        return pixels

    if isinstance(figures, list):
        return np.stack([drawn(figure) for figure in figures])
    return drawn(figures)


def video(tag: str, tensor: Any, fps: float = 4) -> Summary:
    """Videos of shape (N, T, C, H, W) in a grid as one animated GIF."""
    frames = as_bytes(_tiled_frames(as_array(tensor)))
    return Summary(value=[Summary.Value(tag=tag, image=make_video(frames, fps))])


def make_video(tensor: Array, fps: float) -> Summary.Image:
    """Frames of shape (T, H, W, 1 or 3) as an animated GIF."""
    from PIL import Image

    _, height, width, channels = tensor.shape
    pixels = np.repeat(tensor, 3, axis=3) if channels == 1 else tensor
    first, *others = [Image.fromarray(frame) for frame in pixels]
    buffer = io.BytesIO()
    first.save(
        buffer,
        format="GIF",
        save_all=True,
        append_images=others,
        duration=1000 / fps,
        loop=0,
    )
    return _image_message(height, width, channels, buffer)


def _tiled_frames(videos: Array) -> Array:
    """(T, height, width, C): the videos in a grid whose cells are a power of 2."""
    if videos.ndim != 5:
        raise ValueError(
            "video needs 5 dimensions (N, T, C, H, W), given the shape "
            f"{tuple(videos.shape)}"
        )
    number, time, channels, height, width = videos.shape
    cells = 1 << (number - 1).bit_length()
    rows = 1 << ((number.bit_length() - 1) // 2)
    columns = cells // rows
    padded = np.zeros((cells, *videos.shape[1:]), videos.dtype)
    padded[:number] = videos
    padded = padded.reshape(rows, columns, time, channels, height, width)
    frames = padded.transpose(2, 0, 4, 1, 5, 3)
    return frames.reshape(time, rows * height, columns * width, channels)


def audio(tag: str, tensor: Any, sample_rate: int = 44100) -> Summary:
    """Sound of one channel from -1 to 1 as a WAV file of 16 bits."""
    samples = as_array(tensor).squeeze()
    if samples.ndim != 1:
        raise AssertionError(
            f"sound is one channel of samples, {tag!r} has the shape "
            f"{tuple(samples.shape)}"
        )
    if np.abs(samples).max() > 1:
        print(f"warning: {tag!r} leaves the range from -1 to 1; it is clipped.")
        samples = samples.clip(-1, 1)
    encoded = (samples * _LOUDEST).astype("<i2")
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(sample_rate)
        file.writeframes(encoded.tobytes())
    sound = Summary.Audio(
        sample_rate=sample_rate,
        num_channels=1,
        length_frames=samples.size,
        encoded_audio_string=buffer.getvalue(),
        content_type="audio/wav",
    )
    return Summary(value=[Summary.Value(tag=tag, audio=sound)])
