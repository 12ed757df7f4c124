"""Settings for all tests."""

from __future__ import annotations

import hypothesis
import pytest

from sciml_bench.host import lock

# Machines that run tests are shared: a slow example is no failure. The same examples every time keep a failure
# reproducible; `--hypothesis-profile=explore` looks for new ones.
hypothesis.settings.register_profile("steady", deadline=None, derandomize=True)
hypothesis.settings.register_profile("explore", deadline=None, max_examples=1000)
hypothesis.settings.load_profile("steady")


@pytest.fixture(autouse=True)
def _apart_from_the_person_at_the_keyboard(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """What they export or measure must not change a test, and a test must not write to their cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "cache"))
    monkeypatch.setattr(lock, "lock_path", lambda: tmp_path_factory.getbasetemp() / "host.lock")
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
