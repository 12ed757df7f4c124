"""Evidence for a computed reference: other methods, proofs, differences."""
