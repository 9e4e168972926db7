"""What ``torch.save`` writes and ``torch.load`` reads."""
