"""Key-value stores by which processes find each other: see ``store.py``."""
