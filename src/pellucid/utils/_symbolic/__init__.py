"""Sizes as expressions: what export and symbolic tracing know of shapes."""
