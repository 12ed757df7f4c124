"""The environment variables of a worker: a whitelist of the user's, thread limits, and separate compile caches."""

from __future__ import annotations

import os
import random
from collections.abc import Mapping
from pathlib import Path

import sciml_bench

_KEPT = (
    "CC",
    "CONDA_PREFIX",
    "CPATH",
    "CUDA_HOME",
    "CUDA_PATH",
    "CUDA_VISIBLE_DEVICES",
    "CXX",
    "DYLD_LIBRARY_PATH",
    "HIP_VISIBLE_DEVICES",
    "HOME",
    "LANG",
    "LD_LIBRARY_PATH",
    "LIBRARY_PATH",
    "LOGNAME",
    "PATH",
    "PYTHONPATH",
    "ROCR_VISIBLE_DEVICES",
    "TZ",
    "USER",
    "VIRTUAL_ENV",
)
_KEPT_PREFIXES = ("JULIA", "LC_", "NVIDIA_", "PYTHON_JULIA")

_THREAD_COUNTS = (
    "BLIS_NUM_THREADS",
    "JULIA_NUM_THREADS",
    "MKL_NUM_THREADS",
    # Size of XLA's own thread pools on the CPU.
    "NPROC",
    "NUMEXPR_NUM_THREADS",
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "PYTHON_JULIACALL_THREADS",
    "TF_NUM_INTEROP_THREADS",
    "TF_NUM_INTRAOP_THREADS",
    # More compile processes than processors only wait for each other, and forking them is part of the first call.
    "TORCHINDUCTOR_COMPILE_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)

_CACHES = {"TORCHINDUCTOR_CACHE_DIR": "inductor", "TRITON_CACHE_DIR": "triton"}

# Caches that are off until somebody names a folder. Without the two limits JAX keeps no small or quickly compiled
# program, and nothing here is large or slow enough.
_JAX_CACHE, _TENSORFLOW_CACHE = "jax", "tensorflow"
_KEEP_EVERYTHING = {
    "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
}

_MAX_PADDING = 4096


def worker_variables(
    inherited: Mapping[str, str], folder: Path, threads: int, device: str, *, caches: Path, warm: bool
) -> dict[str, str]:
    """The whole environment of a worker whose private, empty folder is ``folder``.

    ``caches`` is the folder of its compile caches, see :func:`make_caches`. Caches that are on by default get a folder
    each there. Caches that are off by default, JAX's and TensorFlow's, stay off unless ``warm``, also for the worker
    that fills them. ``HOME`` is kept: interpreters and Julia's depot live there.
    """
    kept = {name: value for name, value in inherited.items() if name in _KEPT or name.startswith(_KEPT_PREFIXES)}
    variables = kept | thread_variables(threads)
    variables |= {name: str(caches / cache) for name, cache in _CACHES.items()}
    if warm:
        variables |= _KEEP_EVERYTHING | {
            "JAX_COMPILATION_CACHE_DIR": str(caches / _JAX_CACHE),
            "TF_XLA_FLAGS": f"--tf_xla_persistent_cache_directory={caches / _TENSORFLOW_CACHE}",
        }
    variables |= {
        "PYTHONHASHSEED": "0",
        "PYTHONPATH": _python_path(inherited.get("PYTHONPATH", "")),
        # Julia's garbage collector signals its threads; without its own handlers that ends the process.
        "PYTHON_JULIACALL_HANDLE_SIGNALS": "yes",
        "TF_CPP_MIN_LOG_LEVEL": "1",
        "TMPDIR": str(folder),
        # The size of the environment shifts the stack and with it the alignment of everything on it (Mytkowicz et
        # al., 2009): a new length for each process turns that bias into noise that is averaged.
        "SCIML_BENCH_PADDING": "x" * random.SystemRandom().randrange(_MAX_PADDING),
    }
    # The same numbers for CUDA and NVML, which gives clocks and energy.
    variables["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID"
    if device == "cpu":
        variables |= {"CUDA_VISIBLE_DEVICES": "", "JAX_PLATFORMS": "cpu"}
    else:
        # Workers of a group hold memory of one device at the same time, and by default each would take nearly all.
        variables |= {"XLA_PYTHON_CLIENT_PREALLOCATE": "false", "TF_FORCE_GPU_ALLOW_GROWTH": "true"}
    return variables


def thread_variables(threads: int) -> dict[str, str]:
    """Limits of the thread pools of every framework."""
    variables: dict[str, str] = dict.fromkeys(_THREAD_COUNTS, str(threads))
    if threads == 1:
        # An unknown flag here ends the process, so nothing goes in that a release of XLA might not know.
        variables["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false"
    return variables


def _python_path(inherited: str) -> str:
    """The package's own parent first: a worker starts in its private folder, not in the checkout."""
    own = Path(sciml_bench.__file__).resolve().parents[1]
    entries = [str(Path(entry).absolute()) for entry in inherited.split(os.pathsep) if entry]
    return os.pathsep.join([str(own), *entries])


def make_caches(caches: Path) -> None:
    """The empty folders of all compile caches."""
    for cache in (*_CACHES.values(), _JAX_CACHE, _TENSORFLOW_CACHE):
        (caches / cache).mkdir(parents=True)


def count_cache_files(caches: Path) -> int:
    """Return how many files the compile caches hold: the proof that they were cold or warm before, and used after."""
    return sum(len(files) for _, _, files in os.walk(caches))
