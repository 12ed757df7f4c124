"""The tables of a problem file, each with its loader."""
