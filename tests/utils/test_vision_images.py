"""Reading and writing of images as torchvision's Python calls it, by Pillow."""

import io

import pytest

import pellucid as torch

Image = pytest.importorskip("PIL.Image")
torch.ops.load_library("site-packages/torchvision/image.so")
ops = torch.ops.image
GRAY, RGB, RGBA = 1, 3, 4


def picture(channels=3):
    torch.manual_seed(0)
    return torch.randint(0, 256, (channels, 5, 7), dtype=torch.uint8)


def encoded(pixels, kind, **options):
    """The bytes of a file that Pillow writes."""
    rows = pixels.permute(1, 2, 0).contiguous().numpy()
    file = io.BytesIO()
    image = Image.fromarray(rows[:, :, 0] if pixels.shape[0] == 1 else rows)
    image.save(file, kind, **options)
    return torch.frombuffer(bytearray(file.getvalue()), dtype=torch.uint8)


@pytest.mark.parametrize("channels", [1, 3])
def test_png_files_keep_every_pixel(channels, tmp_path):
    pixels, path = picture(channels), str(tmp_path / "picture.png")
    ops.write_file(path, ops.encode_png(pixels, 6))
    actual = ops.decode_png(ops.read_file(path), 0, False)
    assert torch.equal(actual, pixels)


def test_modes_convert():
    data = encoded(picture(), "PNG")
    opaque = ops.decode_png(data, RGBA, False)
    assert torch.equal(opaque[:3], picture()) and (opaque[3] == 255).all()
    assert ops.decode_image(data, GRAY, False).shape == (1, 5, 7)
    assert torch.equal(
        ops.decode_image(encoded(picture(4), "PNG"), 0, False), picture(4)
    )


def test_jpeg_files_are_near_and_read_as_gray():
    smooth = torch.arange(16 * 16).view(1, 16, 16).to(torch.uint8).expand(3, 16, 16)
    data = ops.encode_jpeg(smooth.contiguous(), 95)
    actual = ops.decode_jpeg(data, RGB, False)
    assert (actual.int() - smooth.int()).abs().max() < 8
    assert ops.decode_jpeg(data, GRAY, False).shape == (1, 16, 16)


def test_frames_of_animations_are_stacked():
    frames = [Image.new("RGB", (3, 2), color) for color in ("red", "blue")]
    file = io.BytesIO()
    frames[0].save(file, "GIF", save_all=True, append_images=frames[1:])
    data = torch.frombuffer(bytearray(file.getvalue()), dtype=torch.uint8)
    actual = ops.decode_gif(data)
    assert actual.shape == (2, 3, 2, 3)
    assert actual[:, :, 0, 0].tolist() == [[255, 0, 0], [0, 0, 255]]


def test_the_orientation_is_applied_on_request():
    options = Image.Exif()
    options[0x0112] = 6  # to be turned to the right
    data = encoded(picture(), "JPEG", exif=options)
    assert ops.decode_jpeg(data, RGB, False).shape == (3, 5, 7)
    assert ops.decode_jpeg(data, RGB, True).shape == (3, 7, 5)


def test_what_is_not_an_image_is_refused():
    nothing = torch.zeros(40, dtype=torch.uint8)
    for decode in (ops.decode_image, ops.decode_png, ops.decode_jpeg):
        with pytest.raises(RuntimeError, match="not an image"):
            decode(nothing, 0, False)
    with pytest.raises(RuntimeError, match="PNG, not JPEG"):
        ops.decode_jpeg(encoded(picture(), "PNG"), 0, False)
    with pytest.raises(RuntimeError, match="vector of uint8"):
        ops.decode_png(torch.zeros(3), 0, False)
    with pytest.raises(RuntimeError, match="pixels are uint8"):
        ops.encode_jpeg(torch.zeros(3, 4, 4), 75)
    with pytest.raises(RuntimeError, match="cannot be decoded"):
        ops.decode_png(encoded(picture(), "PNG")[:60], 0, False)
    with pytest.raises(RuntimeError, match="No such file"):
        ops.read_file("nowhere.png")
