"""Questions in SQL, asked of the records of runs."""
