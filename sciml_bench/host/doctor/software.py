"""Findings about environment variables: which reach a worker, and which change what programs outside workers do."""

from __future__ import annotations

from collections.abc import Iterator

from sciml_bench.host.doctor.finding import Cure, Finding, Status
from sciml_bench.host.doctor.readings import Readings

_THREADS = ("_NUM_THREADS", "_MAX_THREADS", "NUM_INTEROP_THREADS", "NUM_INTRAOP_THREADS", "JULIACALL_THREADS")
_THREAD_NAMES = {"NPROC", "OMP_DYNAMIC", "OMP_PROC_BIND", "GOMP_CPU_AFFINITY", "KMP_AFFINITY", "KMP_BLOCKTIME"}
_CACHES = ("JAX_COMPILATION_CACHE", "JAX_PERSISTENT_CACHE", "TORCHINDUCTOR_", "TRITON_CACHE", "XLA_CACHE")
_COMPILERS = ("XLA_FLAGS", "TF_XLA_FLAGS", "JAX_", "TORCH_", "TORCHDYNAMO_", "TF_")
_PATHS = ("LD_PRELOAD", "LD_LIBRARY_PATH", "DYLD_", "PYTHONPATH", "PYTHONSTARTUP", "PYTHONMALLOC", "MALLOC_", "GLIBC_")
_JULIA = ("JULIA", "PYTHON_JULIA")
_GPU = ("NVIDIA_", "CUDA_", "CUBLAS_", "CUDNN_")


def threads(readings: Readings) -> Iterator[Finding]:
    """Variables that set the number of threads."""
    yield from _variables(
        readings,
        "thread_variables",
        "thread variables",
        [name for name in readings.variables if name.endswith(_THREADS) or name in _THREAD_NAMES],
        "a library that runs more threads than a measurement has processors waits for itself",
    )


def caches(readings: Readings) -> Iterator[Finding]:
    """Variables that point compilers to a cache that outlives a process."""
    yield from _variables(
        readings,
        "cache_variables",
        "compile-cache variables",
        [name for name in readings.variables if name.startswith(_CACHES)],
        "a compile cache that outlives the process turns a cold compile into a warm one",
    )


def compilers(readings: Readings) -> Iterator[Finding]:
    """Variables that change what frameworks do, or which libraries are loaded."""
    prefixes = (*_COMPILERS, *_PATHS, *_JULIA, *_GPU)
    names = [name for name in readings.variables if name.startswith(prefixes) and not name.startswith(_CACHES)]
    yield from _variables(
        readings,
        "framework_variables",
        "framework and library variables",
        [name for name in names if not (name.endswith(_THREADS) or name in _THREAD_NAMES)],
        "they change which libraries, devices or compiler options a program gets; on another machine they are not set",
    )


def _variables(readings: Readings, key: str, title: str, names: list[str], why: str) -> Iterator[Finding]:
    """One finding for what reaches a worker unchanged, one for what only touches programs outside workers."""
    reaching = sorted(set(names) & readings.inherited)
    kept_out = sorted(set(names) - readings.inherited)
    if reaching:
        yield Finding(
            key,
            title,
            Status.NOTE,
            f"set, and workers get {_them(reaching)}: {', '.join(reaching)}",
            why,
            Cure(f"unset {' '.join(reaching)}"),
        )
    if kept_out:
        yield Finding(
            f"{key}_outside",
            title,
            Status.NOTE,
            f"set, but workers do not get {_them(kept_out)}: {', '.join(kept_out)}",
            f"measurements are safe; your own scripts in this shell are not comparable: {why}",
            Cure(f"unset {' '.join(kept_out)}"),
        )
    if not names:
        yield Finding(key, title, Status.FINE, "none set")


def _them(names: list[str]) -> str:
    return "it" if len(names) == 1 else "them"


CHECKS = (threads, caches, compilers)
