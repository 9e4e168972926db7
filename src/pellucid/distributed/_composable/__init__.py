"""``torch.distributed._composable``: parallelism as functions of modules."""
