"""Runs as tables for other programs and for papers."""
