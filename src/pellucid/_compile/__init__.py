"""The implementation of ``torch.compile``: regions, groups of ops, backends,
reports.
"""
