"""This machine: its hardware, disturbances, and counters."""
