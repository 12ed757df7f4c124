"""Reports of the conventional track: parity first, then latency, throughput and training of each framework."""
