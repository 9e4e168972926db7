"""The parts of the analysis of dumps."""
