"""``torch.fx.config``: switches of tracing and of passes."""

# Whether constant folding and shape propagation print what they skip.
disable_progress = True
verbose_progress = False
# Whether ``split_module`` numbers the partitions by the user's names.
do_not_emit_stack_traces = False
