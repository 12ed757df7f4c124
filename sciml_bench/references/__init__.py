"""The certified truth: a high-precision solver, gradients, certificates, and the files they are kept in."""
