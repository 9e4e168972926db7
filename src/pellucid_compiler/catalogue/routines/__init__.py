"""Library routines in NumPy: their specification, and their fallback without LAPACK."""
