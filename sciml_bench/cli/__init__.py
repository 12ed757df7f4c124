"""The command line: parse, call, print. Everything that computes lives in the layers below."""
