"""Processes whose imports are counted: coverage would import modules of its own."""

import os


def environment():
    """This process's variables without those by which coverage starts in children."""
    return {k: v for k, v in os.environ.items() if not k.startswith("COVERAGE_")}
