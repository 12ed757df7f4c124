"""Pure functions over numbers: no files, no framework, no clock."""
