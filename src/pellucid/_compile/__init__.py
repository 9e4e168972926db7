"""What is behind ``torch.compile``: regions, groups of ops, backends, explanations."""
