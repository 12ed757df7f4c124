"""Equations as symbols: components, graphs, derivatives and statements, before a target prints them."""
