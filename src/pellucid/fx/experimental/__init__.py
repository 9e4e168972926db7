"""``torch.fx.experimental``: ``make_fx``, symbolic shapes, passes for inference."""
