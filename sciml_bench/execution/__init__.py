"""Carries out plans: which processes run next, and the records that they leave."""
