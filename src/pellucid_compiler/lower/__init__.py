"""Graph to Plan. Read graph.py, then loops.py and plan.py."""
