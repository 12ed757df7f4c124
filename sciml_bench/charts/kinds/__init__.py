"""One module for each kind of chart."""
