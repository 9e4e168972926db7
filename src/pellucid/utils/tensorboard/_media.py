"""The methods of `SummaryWriter` for images, video and sound."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pellucid.utils.tensorboard import _pictures, summary
from pellucid.utils.tensorboard._arrays import as_array
from pellucid.utils.tensorboard._run_files import RunFiles


class Media(RunFiles):
    """Images, figures, video, sound, embeddings and meshes of a run."""

    def add_image(
        self,
        tag: str,
        img_tensor: Any,
        global_step: Any = None,
        walltime: float | None = None,
        dataformats: str = "CHW",
    ) -> None:
        """An image of uint8, or of floats from 0 to 1. Needs Pillow."""
        message = summary.image(tag, img_tensor, dataformats=dataformats)
        self._add(message, global_step, walltime)

    def add_images(
        self,
        tag: str,
        img_tensor: Any,
        global_step: Any = None,
        walltime: float | None = None,
        dataformats: str = "NCHW",
    ) -> None:
        """Several images as a grid of up to eight columns. Needs Pillow."""
        self.add_image(tag, img_tensor, global_step, walltime, dataformats)

    def add_image_with_boxes(
        self,
        tag: str,
        img_tensor: Any,
        box_tensor: Any,
        global_step: Any = None,
        walltime: float | None = None,
        rescale: float = 1,
        dataformats: str = "CHW",
        labels: Any = None,
    ) -> None:
        """An image with boxes of shape (N, 4): left, top, right, bottom. Labels
        are left out if they are not one for each box. Needs Pillow.
        """
        labels = [labels] if isinstance(labels, str) else labels
        if labels is not None and len(labels) != box_tensor.shape[0]:
            labels = None
        message = summary.image_boxes(
            tag, img_tensor, box_tensor, rescale, dataformats, labels
        )
        self._add(message, global_step, walltime)

    def add_figure(
        self,
        tag: str,
        figure: Any,
        global_step: int | None = None,
        close: bool = True,
        walltime: float | None = None,
    ) -> None:
        """A figure of Matplotlib, or a list of them as a grid."""
        layout = "NCHW" if isinstance(figure, list) else "CHW"
        drawn = _pictures.figure_to_image(figure, close)
        self.add_image(tag, drawn, global_step, walltime, layout)

    def add_video(
        self,
        tag: str,
        vid_tensor: Any,
        global_step: Any = None,
        fps: float = 4,
        walltime: float | None = None,
    ) -> None:
        """Videos of shape (N, T, C, H, W) in a grid, as GIF. Needs Pillow."""
        self._add(summary.video(tag, vid_tensor, fps), global_step, walltime)

    def add_audio(
        self,
        tag: str,
        snd_tensor: Any,
        global_step: Any = None,
        sample_rate: int = 44100,
        walltime: float | None = None,
    ) -> None:
        """Sound of one channel, from -1 to 1."""
        self._add(summary.audio(tag, snd_tensor, sample_rate), global_step, walltime)

    def add_embedding(
        self,
        mat: Any,
        metadata: Sequence[Any] | None = None,
        label_img: Any = None,
        global_step: Any = None,
        tag: str = "default",
        metadata_header: Sequence[str] | None = None,
    ) -> None:
        """Vectors of shape (N, D) for the projector, with a label for each (rows, with
        ``metadata_header``) and images of shape (N, C, H, W).
        """
        self._embeddings.add(
            self._get_file_writer().get_logdir(),
            as_array(mat),
            metadata,
            metadata_header,
            None if label_img is None else as_array(label_img),
            0 if global_step is None else global_step,
            tag,
        )

    def add_mesh(
        self,
        tag: str,
        vertices: Any,
        colors: Any = None,
        faces: Any = None,
        config_dict: Mapping[str, Any] | None = None,
        global_step: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Points in space and their colours, of shape (B, N, 3); ``faces`` are
        triangles of their numbers, ``config_dict`` goes to three.js.
        """
        message = summary.mesh(tag, vertices, colors, faces, config_dict)
        self._add(message, global_step, walltime)
