"""What Python and C++ share; see README.md."""
