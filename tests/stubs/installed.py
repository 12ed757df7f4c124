"""The small suite of stub problems and adapters, in the place of the real one.

Workers are real processes that run stub programs; the truth is the exact solution, so that no reference engine runs.
"""

from __future__ import annotations

import sys
import types
from pathlib import Path

import pytest
import stubs
from stubs.suite import stub_adapters, use_catalog, write_catalog
from stubs.tasks import reference

from sciml_bench.adapters import registry
from sciml_bench.host import lock
from sciml_bench.references import diagnostics, probe

TESTS = Path(stubs.__path__[0]).parent


def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put it in place until the patches are undone; its catalog and the lock of the host are below ``tmp_path``."""
    use_catalog(write_catalog(tmp_path / "catalog"), monkeypatch)
    # What is recommended of stubs goes by the label alone.
    for module in (probe, diagnostics):
        monkeypatch.setattr(module, "probed", lambda problem, first=None: None)
    monkeypatch.setattr(registry, "_all", stub_adapters)
    monkeypatch.setattr(lock, "lock_path", lambda: tmp_path / "host.lock")
    monkeypatch.setenv("PYTHONPATH", str(TESTS))
    truth = types.ModuleType("truth")
    truth.__dict__["truth"] = lambda _problem, *_options, **_named: reference()
    monkeypatch.setitem(sys.modules, "sciml_bench.references.truth", truth)
