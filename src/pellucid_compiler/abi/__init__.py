"""What Python and C++ share; README.md says what is where."""
