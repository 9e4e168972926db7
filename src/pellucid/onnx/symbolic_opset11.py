"""ONNX's opset 11 as symbolic functions: none yet. Libraries import the module."""
