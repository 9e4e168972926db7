"""What moves the bytes of a group: see README.md."""
