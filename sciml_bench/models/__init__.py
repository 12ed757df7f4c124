"""Models of the conventional track: declared once, layer by layer, for every framework."""
