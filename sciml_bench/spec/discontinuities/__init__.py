"""The times at which the equations of a problem are not smooth, proved."""
