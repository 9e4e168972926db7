"""``torch.distributed.elastic``: imported by launched programs."""
