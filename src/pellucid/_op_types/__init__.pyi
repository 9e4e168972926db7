"""Types of ops; see tools/make_stubs.py."""
