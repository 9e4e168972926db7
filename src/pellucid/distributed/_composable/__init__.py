"""``torch.distributed._composable``: parallelism by functions on modules."""
