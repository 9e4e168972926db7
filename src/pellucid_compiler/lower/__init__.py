"""Graph to Plan. Read graph.py, then pipelines.py, loops.py and plan.py."""
