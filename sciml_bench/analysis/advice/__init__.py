"""The way to take: costs of all ways, the best ones, and what to try next."""
