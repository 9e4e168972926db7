"""Modules on other workers."""
