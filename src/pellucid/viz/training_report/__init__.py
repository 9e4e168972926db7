"""The report of a training run: ``viz.training``."""

from pellucid.viz.training_report.report import TrainingReport

__all__ = ["TrainingReport"]
