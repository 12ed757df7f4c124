"""The environment in which the engine is fastest."""

from __future__ import annotations

#: The engine factorises many small matrices, and more than one thread makes each of them slower. The libraries read
#: these variables when they are loaded, so they must be set before NumPy and SciPy are imported.
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
