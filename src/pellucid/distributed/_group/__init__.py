"""Groups of processes: see README.md."""
