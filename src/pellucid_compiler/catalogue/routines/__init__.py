"""Library routines in NumPy: their meaning, and what runs without machine code."""
