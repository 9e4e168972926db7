"""``SummaryWriter``: logs a training run for TensorBoard."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from pellucid.utils.tensorboard import summary
from pellucid.utils.tensorboard._arrays import as_array
from pellucid.utils.tensorboard._files import FileWriter
from pellucid.utils.tensorboard._graph import graph
from pellucid.utils.tensorboard._media import Media

__all__ = ["FileWriter", "SummaryWriter"]


class SummaryWriter(Media):
    """Writes event files into ``log_dir`` for TensorBoard.

    The default ``log_dir`` is in ``runs/``, named by the time, the machine and
    ``comment``. ``purge_step`` hides events of an earlier run from that step on. The
    other arguments are those of ``FileWriter``. In all methods ``global_step`` is the
    step of a value, ``walltime`` replaces the current time, and NumPy arrays are
    accepted like tensors.

    Example::

        with SummaryWriter("runs/first") as writer:
            for step, loss in enumerate(losses):
                writer.add_scalar("loss", loss, step)
    """

    def add_hparams(
        self,
        hparam_dict: dict[str, Any],
        metric_dict: dict[str, Any],
        hparam_domain_discrete: dict[str, list[Any]] | None = None,
        run_name: str | None = None,
        global_step: Any = None,
    ) -> None:
        """Hyperparameters and the resulting metrics, as a separate run in the directory
        ``run_name`` (by default the time) of ``log_dir``.

        Values are bools, ints, floats, strings, tensors of one element or None; of
        ``hparam_domain_discrete`` lists of all possible ones.
        """
        messages = summary.hparams(hparam_dict, metric_dict, hparam_domain_discrete)
        root = self._get_file_writer().get_logdir()
        with SummaryWriter(os.path.join(root, run_name or str(time.time()))) as run:
            for message in messages:
                run._add(message, global_step)
            for tag, value in metric_dict.items():
                run.add_scalar(tag, value, global_step)

    def add_scalar(
        self,
        tag: str,
        scalar_value: Any,
        global_step: Any = None,
        walltime: float | None = None,
        new_style: bool = False,
        double_precision: bool = False,
    ) -> None:
        """One number; in the new style as a tensor, of float64 on request."""
        message = summary.scalar(
            *(tag, scalar_value),
            new_style=new_style,
            double_precision=double_precision,
        )
        self._add(message, global_step, walltime)

    def add_scalars(
        self,
        main_tag: str,
        tag_scalar_dict: Mapping[str, Any],
        global_step: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Numbers that share a chart: each in an event file in a directory of its own,
        named after ``main_tag`` and its key.
        """
        walltime = time.time() if walltime is None else walltime
        root = self._get_file_writer().get_logdir()
        assert self.all_writers is not None  # since there is a file writer
        for tag, value in tag_scalar_dict.items():
            folder = f"{root}/{main_tag.replace('/', '_')}_{tag}"
            if folder not in self.all_writers:
                self.all_writers[folder] = self._open(folder)
            message = summary.scalar(main_tag, value)
            self.all_writers[folder].add_summary(message, global_step, walltime)

    def add_tensor(
        self,
        tag: str,
        tensor: Any,
        global_step: Any = None,
        walltime: float | None = None,
    ) -> None:
        """A whole tensor, of less than 2 GiB."""
        self._add(summary.tensor_proto(tag, tensor), global_step, walltime)

    def add_histogram(
        self,
        tag: str,
        values: Any,
        global_step: Any = None,
        bins: Any = "tensorflow",
        walltime: float | None = None,
        max_bins: int | None = None,
    ) -> None:
        """The distribution of all values, by the limits of TensorFlow or ``bins`` as in
        ``numpy.histogram``; neighbours are joined to about ``max_bins`` buckets.
        """
        if isinstance(bins, str) and bins == "tensorflow":
            bins = self.default_bins
        message = summary.histogram(tag, values, bins, max_bins)
        self._add(message, global_step, walltime)

    def add_histogram_raw(
        self,
        tag: str,
        min: float,
        max: float,
        num: int,
        sum: float,
        sum_squares: float,
        bucket_limits: Any,
        bucket_counts: Any,
        global_step: Any = None,
        walltime: float | None = None,
    ) -> None:
        """A precomputed distribution: the upper limit and count of each bucket."""
        if len(bucket_limits) != len(bucket_counts):
            raise ValueError(
                "each bucket needs a limit and a count, given "
                f"{len(bucket_limits)} limits and {len(bucket_counts)} counts"
            )
        of_all = min, max, num, sum, sum_squares
        message = summary.histogram_raw(tag, *of_all, bucket_limits, bucket_counts)
        self._add(message, global_step, walltime)

    def add_text(
        self,
        tag: str,
        text_string: str,
        global_step: Any = None,
        walltime: float | None = None,
    ) -> None:
        """A text, shown as Markdown."""
        self._add(summary.text(tag, text_string), global_step, walltime)

    def add_onnx_graph(self, prototxt: Any) -> NoReturn:
        """Not available: Pellucid neither reads nor writes ONNX files."""
        raise NotImplementedError(
            "ONNX files cannot be read; add_graph(model, inputs) logs a model's graph"
        )

    def add_graph(
        self,
        model: Any,
        input_to_model: Any = None,
        verbose: bool = False,
        use_strict_trace: bool = True,
    ) -> None:
        """The ops of ``model`` in the scopes of its modules, recorded in one run on
        ``input_to_model`` (a tensor or a tuple of arguments) in evaluation mode.

        ``verbose`` prints them. ``use_strict_trace`` has no effect: containers need no
        special handling.
        """
        self._get_file_writer().add_graph(graph(model, input_to_model, verbose))

    def add_pr_curve(
        self,
        tag: str,
        labels: Any,
        predictions: Any,
        global_step: Any = None,
        num_thresholds: int = 127,
        weights: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Precision and recall of probabilities for labels of 0 and 1."""
        of = as_array(labels), as_array(predictions)
        message = summary.pr_curve(tag, *of, num_thresholds, weights)
        self._add(message, global_step, walltime)

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
        walltime: float | None = None,
    ) -> None:
        """A precomputed curve of precision and recall."""
        message = summary.pr_curve_raw(
            *(tag, true_positive_counts, false_positive_counts),
            *(true_negative_counts, false_negative_counts),
            *(precision, recall, num_thresholds, weights),
        )
        self._add(message, global_step, walltime)

    def add_custom_scalars_multilinechart(
        self, tags: Sequence[str], category: str = "default", title: str = "untitled"
    ) -> None:
        """A chart of several scalars, and nothing else in the layout."""
        self.add_custom_scalars({category: {title: ["Multiline", tags]}})

    def add_custom_scalars_marginchart(
        self, tags: Sequence[str], category: str = "default", title: str = "untitled"
    ) -> None:
        """A chart of a scalar between two others, and nothing else in the layout."""
        self.add_custom_scalars({category: {title: ["Margin", tags]}})

    def add_custom_scalars(self, layout: Mapping[str, Mapping[str, Any]]) -> None:
        """Charts of several scalars: {category: {chart: [kind, tags]}}, where the kind
        is "Multiline", or "Margin" with three tags: value, lower, upper. Call it once.
        """
        self._add(summary.custom_scalars(layout))
