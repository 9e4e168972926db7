"""Programs of several processes."""
