"""Settings for all tests."""

from __future__ import annotations

import difflib
import gc
from collections.abc import Callable
from pathlib import Path

import hypothesis
import pytest

from sciml_bench.host import lock

# Machines that run tests are shared: a slow example is no failure. The same examples every time keep a failure
# reproducible; `--hypothesis-profile=explore` looks for new ones.
hypothesis.settings.register_profile("steady", deadline=None, derandomize=True)
hypothesis.settings.register_profile("explore", deadline=None, max_examples=1000)
hypothesis.settings.load_profile("steady")


def pytest_addoption(parser: pytest.Parser) -> None:
    """A flag for files that hold expected output."""
    parser.addoption("--regenerate", action="store_true", help="write golden files anew, to be read in the diff")


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[Path, str], None]:
    """Asserts that a text is the one of a golden file."""

    def check(path: Path, text: str) -> None:
        if request.config.getoption("--regenerate"):
            path.write_text(text, encoding="utf-8")
        expected = path.read_text(encoding="utf-8")
        changes = difflib.unified_diff(expected.splitlines(), text.splitlines(), path.name, n=1)
        assert text == expected, "\n".join(changes)

    return check


@pytest.fixture(autouse=True, scope="module")
def _quick_garbage_collection() -> None:
    """Measuring collects garbage before each loop, which would walk through everything that other tests made."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def _apart_from_the_person_at_the_keyboard(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """What they export or measure must not change a test, and a test must not write to their cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "cache"))
    monkeypatch.setattr(lock, "lock_path", lambda: tmp_path_factory.getbasetemp() / "host.lock")
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
