"""The harness tested on this machine: how often it is wrong where nothing differs, and what differences it finds."""
