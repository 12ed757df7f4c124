"""The truth about models of the conventional track: outputs, losses and slopes in extended precision."""
