"""Process groups: see README.md."""
