"""The file format of ``torch.save`` and ``torch.load``."""
