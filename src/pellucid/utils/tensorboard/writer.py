"""``SummaryWriter``: what a training run writes for TensorBoard to show."""

from __future__ import annotations

import os
import time
from datetime import datetime
from types import TracebackType
from typing import Any, Self

from tensorboard.compat.proto.event_pb2 import Event, SessionLog
from tensorboard.summary.writer.event_file_writer import EventFileWriter

from pellucid.utils.tensorboard import summary

__all__ = ["FileWriter", "SummaryWriter"]


class FileWriter:
    """Writes events to a file of ``log_dir``, in a thread of its own."""

    def __init__(
        self,
        log_dir: Any,
        max_queue: int = 10,
        flush_secs: int = 120,
        filename_suffix: str = "",
    ) -> None:
        self.event_writer = EventFileWriter(
            os.fspath(log_dir), max_queue, flush_secs, filename_suffix
        )

    def get_logdir(self) -> str:
        """The folder of the file."""
        return str(self.event_writer.get_logdir())

    def add_event(self, event: Any, step: Any = None, walltime: Any = None) -> None:
        """Writes an ``Event``, at this time unless ``walltime`` is given."""
        event.wall_time = time.time() if walltime is None else walltime
        if step is not None:
            event.step = int(step)
        self.event_writer.add_event(event)

    def add_summary(
        self, made: Any, global_step: Any = None, walltime: Any = None
    ) -> None:
        """Writes a ``Summary``."""
        self.add_event(Event(summary=made), global_step, walltime)

    def add_graph(self, graph_profile: Any, walltime: Any = None) -> None:
        """Writes a ``GraphDef`` and what was measured with it."""
        graph, _ = graph_profile
        self.add_event(Event(graph_def=graph.SerializeToString()), None, walltime)

    def flush(self) -> None:
        """Writes what waits."""
        self.event_writer.flush()

    def close(self) -> None:
        """Ends the file."""
        self.event_writer.close()

    def reopen(self) -> None:
        """Goes on writing after ``close``."""
        self.event_writer.reopen()


def _default_folder(comment: str) -> str:
    import socket

    now = datetime.now().strftime("%b%d_%H-%M-%S")
    return os.path.join("runs", f"{now}_{socket.gethostname()}{comment}")


class SummaryWriter:
    """Writes scalars, histograms, images, graphs and more, each under a tag.

    The file is in ``log_dir``, by default a new folder of ``runs``; ``tensorboard
    --logdir runs`` shows it. Steps from ``purge_step`` on that an earlier run wrote
    are hidden.

    Example::

        with SummaryWriter() as writer:
            for step in range(100):
                writer.add_scalar("loss", 1 / (step + 1), step)
    """

    def __init__(
        self,
        log_dir: Any = None,
        comment: str = "",
        purge_step: Any = None,
        max_queue: int = 10,
        flush_secs: int = 120,
        filename_suffix: str = "",
    ) -> None:
        self.log_dir = _default_folder(comment) if log_dir is None else log_dir
        self.purge_step = purge_step
        self.max_queue, self.flush_secs = max_queue, flush_secs
        self.filename_suffix = filename_suffix
        self.file_writer: FileWriter | None = None
        self.all_writers: dict[str, FileWriter] | None = None
        self.default_bins = summary.exponential_bins()
        self._get_file_writer()

    def _get_file_writer(self) -> FileWriter:
        """The file's writer; a new one after ``close``."""
        if self.file_writer is None:
            self.file_writer = self._writer_of(self.log_dir)
            self.all_writers = {self.get_logdir(): self.file_writer}
            if self.purge_step is not None:
                step = self.purge_step
                self.file_writer.add_event(
                    Event(step=step, file_version="brain.Event:2")
                )
                start = SessionLog(status=SessionLog.START)
                self.file_writer.add_event(Event(step=step, session_log=start))
                self.purge_step = None
        return self.file_writer

    def _writer_of(self, folder: Any) -> FileWriter:
        return FileWriter(folder, self.max_queue, self.flush_secs, self.filename_suffix)

    def get_logdir(self) -> Any:
        """The folder of the file."""
        return self.log_dir

    def _add(self, made: Any, step: Any, walltime: Any) -> None:
        self._get_file_writer().add_summary(made, step, walltime)

    # Numbers

    def add_scalar(
        self,
        tag: str,
        scalar_value: Any,
        global_step: Any = None,
        walltime: Any = None,
        new_style: bool = False,
        double_precision: bool = False,
    ) -> None:
        """One number."""
        made = summary.scalar(tag, scalar_value, new_style, double_precision)
        self._add(made, global_step, walltime)

    def add_scalars(
        self,
        main_tag: str,
        tag_scalar_dict: dict[str, Any],
        global_step: Any = None,
        walltime: Any = None,
    ) -> None:
        """Several numbers in one diagram; each has a file of its own."""
        self._get_file_writer()
        assert self.all_writers is not None
        for tag, value in tag_scalar_dict.items():
            name = main_tag.replace("/", "_") + "_" + tag
            folder = os.path.join(os.fspath(self.log_dir), name)
            if folder not in self.all_writers:
                self.all_writers[folder] = self._writer_of(folder)
            made = summary.scalar(main_tag, value)
            self.all_writers[folder].add_summary(made, global_step, walltime)

    def add_tensor(
        self, tag: str, tensor: Any, global_step: Any = None, walltime: Any = None
    ) -> None:
        """A whole tensor."""
        self._add(summary.tensor_proto(tag, tensor), global_step, walltime)

    def add_histogram(
        self,
        tag: str,
        values: Any,
        global_step: Any = None,
        bins: Any = "tensorflow",
        walltime: Any = None,
        max_bins: int | None = None,
    ) -> None:
        """How values are distributed; ``bins`` are edges, or NumPy's word for them."""
        edges = self.default_bins if bins == "tensorflow" else bins
        made = summary.histogram(tag, values, edges, max_bins)
        self._add(made, global_step, walltime)

    def add_histogram_raw(
        self,
        tag: str,
        min: float,
        max: float,
        num: float,
        sum: float,
        sum_squares: float,
        bucket_limits: Any,
        bucket_counts: Any,
        global_step: Any = None,
        walltime: Any = None,
    ) -> None:
        """A histogram whose numbers are given."""
        if len(bucket_limits) != len(bucket_counts):
            raise ValueError(
                f"{len(bucket_limits)} bucket_limits and {len(bucket_counts)} "
                "bucket_counts: one count belongs to each limit"
            )
        numbers = min, max, num, sum, sum_squares
        made = summary.histogram_raw(tag, *numbers, bucket_limits, bucket_counts)
        self._add(made, global_step, walltime)

    # Images and sounds

    def add_image(
        self,
        tag: str,
        img_tensor: Any,
        global_step: Any = None,
        walltime: Any = None,
        dataformats: str = "CHW",
    ) -> None:
        """An image: bytes, or numbers from 0 to 1."""
        made = summary.image(tag, img_tensor, dataformats=dataformats)
        self._add(made, global_step, walltime)

    def add_images(
        self,
        tag: str,
        img_tensor: Any,
        global_step: Any = None,
        walltime: Any = None,
        dataformats: str = "NCHW",
    ) -> None:
        """Several images in a grid."""
        self.add_image(tag, img_tensor, global_step, walltime, dataformats)

    def add_image_with_boxes(
        self,
        tag: str,
        img_tensor: Any,
        box_tensor: Any,
        global_step: Any = None,
        walltime: Any = None,
        rescale: float = 1,
        dataformats: str = "CHW",
        labels: Any = None,
    ) -> None:
        """An image with rectangles (x0, y0, x1, y1)."""
        labels = [labels] if isinstance(labels, str) else labels
        drawn = img_tensor, box_tensor, rescale, dataformats, labels
        self._add(summary.image_boxes(tag, *drawn), global_step, walltime)

    def add_figure(
        self,
        tag: str,
        figure: Any,
        global_step: Any = None,
        close: bool = True,
        walltime: Any = None,
    ) -> None:
        """A figure of matplotlib, or a list of figures of one size."""
        import numpy

        def drawn(one: Any) -> Any:
            from matplotlib.backends.backend_agg import FigureCanvasAgg

            canvas = FigureCanvasAgg(one)
            canvas.draw()
            return numpy.asarray(canvas.buffer_rgba())[..., :3]

        several = isinstance(figure, list)
        pixels = [drawn(one) for one in (figure if several else [figure])]
        if close:
            from matplotlib import pyplot

            for one in figure if several else [figure]:
                pyplot.close(one)
        self.add_images(tag, numpy.stack(pixels), global_step, walltime, "NHWC")

    def add_video(
        self,
        tag: str,
        vid_tensor: Any,
        global_step: Any = None,
        fps: float = 4,
        walltime: Any = None,
    ) -> None:
        """Videos (N, T, C, H, W) as one animated image."""
        self._add(summary.video(tag, vid_tensor, fps), global_step, walltime)

    def add_audio(
        self,
        tag: str,
        snd_tensor: Any,
        global_step: Any = None,
        sample_rate: int = 44100,
        walltime: Any = None,
    ) -> None:
        """Samples of one channel, from -1 to 1."""
        made = summary.audio(tag, snd_tensor, sample_rate)
        self._add(made, global_step, walltime)

    def add_text(
        self,
        tag: str,
        text_string: str,
        global_step: Any = None,
        walltime: Any = None,
    ) -> None:
        """A text in Markdown."""
        self._add(summary.text(tag, text_string), global_step, walltime)

    # Models

    def add_graph(
        self,
        model: Any,
        input_to_model: Any = None,
        verbose: bool = False,
        use_strict_trace: bool = True,
    ) -> None:
        """The modules and functions that a call of ``model`` runs, as fx traces it."""
        from pellucid.utils.tensorboard._graph import graph_of

        traced, found = graph_of(model, input_to_model)
        if verbose:
            print(traced)
        self._get_file_writer().add_graph((found, None))

    def add_embedding(
        self,
        mat: Any,
        metadata: Any = None,
        label_img: Any = None,
        global_step: Any = None,
        tag: str = "default",
        metadata_header: Any = None,
    ) -> None:
        """Rows of a matrix as points, with labels or small images (N, C, H, W)."""
        from pellucid.utils.tensorboard._embedding import write_embedding

        step = 0 if global_step is None else int(global_step)
        folder = os.fspath(self._get_file_writer().get_logdir())
        name = f"{step:05d}/{tag.replace('/', '%2F')}"
        labels = metadata, metadata_header
        write_embedding(folder, name, f"{tag}:{step:05d}", mat, labels, label_img)

    # Curves, layouts, meshes

    def add_pr_curve(
        self,
        tag: str,
        labels: Any,
        predictions: Any,
        global_step: Any = None,
        num_thresholds: int = 127,
        weights: Any = None,
        walltime: Any = None,
    ) -> None:
        """Precision and recall of predictions from 0 to 1."""
        made = summary.pr_curve(tag, labels, predictions, num_thresholds, weights)
        self._add(made, global_step, walltime)

    def add_pr_curve_raw(
        self,
        tag: str,
        true_positive_counts: Any,
        false_positive_counts: Any,
        true_negative_counts: Any,
        false_negative_counts: Any,
        precision: Any,
        recall: Any,
        global_step: Any = None,
        num_thresholds: int = 127,
        weights: Any = None,
        walltime: Any = None,
    ) -> None:
        """Precision and recall that are given."""
        positives = true_positive_counts, false_positive_counts
        negatives = true_negative_counts, false_negative_counts
        rows = *positives, *negatives, precision, recall
        made = summary.pr_curve_raw(tag, *rows, num_thresholds=num_thresholds)
        self._add(made, global_step, walltime)

    def add_custom_scalars(self, layout: Any) -> None:
        """Which scalars share a diagram: {category: {title: ["Multiline", tags]}}."""
        self._add(summary.custom_scalars(layout), None, None)

    def add_custom_scalars_multilinechart(
        self, tags: list[str], category: str = "default", title: str = "untitled"
    ) -> None:
        """One diagram of several scalars."""
        self.add_custom_scalars({category: {title: ["Multiline", tags]}})

    def add_custom_scalars_marginchart(
        self, tags: list[str], category: str = "default", title: str = "untitled"
    ) -> None:
        """One diagram of a scalar between a lower and an upper one."""
        if len(tags) != 3:
            raise ValueError(f"expected three tags (value, lower, upper), not {tags}")
        self.add_custom_scalars({category: {title: ["Margin", tags]}})

    def add_mesh(
        self,
        tag: str,
        vertices: Any,
        colors: Any = None,
        faces: Any = None,
        config_dict: Any = None,
        global_step: Any = None,
        walltime: Any = None,
    ) -> None:
        """Points in space (B, N, 3) with colors and triangles."""
        made = summary.mesh(tag, vertices, colors, faces, config_dict)
        self._add(made, global_step, walltime)

    def add_hparams(
        self,
        hparam_dict: dict[str, Any],
        metric_dict: dict[str, Any],
        hparam_domain_discrete: Any = None,
        run_name: str | None = None,
        global_step: Any = None,
    ) -> None:
        """A run's hyperparameters and the metrics that they led to, in a file of
        their own.
        """
        made = summary.hparams(hparam_dict, metric_dict, hparam_domain_discrete)
        folder = os.path.join(os.fspath(self.log_dir), run_name or str(time.time()))
        with SummaryWriter(log_dir=folder) as writer:
            for one in made:
                writer._add(one, None, None)
            for key, value in metric_dict.items():
                writer.add_scalar(key, value, global_step)

    def flush(self) -> None:
        """Writes what waits."""
        for writer in (self.all_writers or {}).values():
            writer.flush()

    def close(self) -> None:
        """Ends the files; a later ``add_...`` begins new ones."""
        for writer in (self.all_writers or {}).values():
            writer.flush()
            writer.close()
        self.file_writer = self.all_writers = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> None:
        self.close()
