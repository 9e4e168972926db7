"""The launcher behind ``python -m pellucid.distributed.run``: see README.md."""
