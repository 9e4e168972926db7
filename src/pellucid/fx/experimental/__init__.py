"""Questions that libraries ask about tracing."""
