"""Kinds of tensors that libraries ask about."""
