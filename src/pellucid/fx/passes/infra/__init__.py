"""``torch.fx.passes.infra``: passes as objects, in an order, by partitions."""
