"""One benchmark at a time on a host."""

from __future__ import annotations

import itertools
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from sciml_bench.errors import EngineError
from sciml_bench.host.lock import holder as holder_of
from sciml_bench.host.lock import host_lock, lock_path, lock_path_of

HOLD = """
import sys, time
from pathlib import Path
from sciml_bench.host.lock import host_lock
with host_lock(label="sciml-bench stiff", path=Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(float(sys.argv[2]))
"""


def holder(path: Path, seconds: float) -> subprocess.Popen[str]:
    root = Path(__file__).parents[2]
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path), str(seconds)], stdout=subprocess.PIPE, text=True, cwd=root
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_other_processors_have_another_lock():
    assert lock_path_of({2, 1}) == lock_path_of([1, 2])
    assert len({lock_path(), lock_path_of({1, 2}), lock_path_of({1, 3})}) == 3


def test_lock_is_given_back(tmp_path: Path):
    path = tmp_path / "lock"
    for _ in range(2):
        with host_lock(label="one", path=path):
            assert '"label": "one"' in path.read_text()
        assert path.read_text() == ""


def test_second_run_is_refused_with_the_name_of_the_first(tmp_path: Path):
    path = tmp_path / "lock"
    with holder(path, 600) as process:
        try:
            with pytest.raises(EngineError) as caught, host_lock(label="two", path=path):
                pytest.fail("two runs at once")
        finally:
            process.kill()
    assert f"'sciml-bench stiff', process {process.pid}, since 2" in str(caught.value)


def test_second_run_can_wait(tmp_path: Path):
    path = tmp_path / "lock"
    told: list[str] = []
    with holder(path, 1.0) as process, host_lock(label="two", wait_s=60.0, path=path, announce=told.append):
        assert '"label": "two"' in path.read_text()
    (text,) = told
    assert text.startswith(f"waiting for another benchmark on this host ('sciml-bench stiff', process {process.pid}, ")


def test_nobody_is_waited_for_where_nobody_is(tmp_path: Path):
    told: list[str] = []
    with host_lock(label="one", wait_s=60.0, path=tmp_path / "lock", announce=told.append):
        assert told == []


def test_lock_of_a_run_that_was_killed_is_free(tmp_path: Path):
    path = tmp_path / "lock"
    with holder(path, 600) as process:
        process.kill()
        process.wait()
        with host_lock(label="two", path=path):
            pass


def test_threads_of_one_process_exclude_each_other(tmp_path: Path):
    path = tmp_path / "lock"
    spans: list[tuple[float, float]] = []

    def hold() -> None:
        with host_lock(label="thread", wait_s=None, path=path):
            start = time.monotonic()
            time.sleep(0.1)
            spans.append((start, time.monotonic()))

    threads = [threading.Thread(target=hold) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    spans.sort()
    assert len(spans) == 3
    assert all(before[1] <= after[0] for before, after in itertools.pairwise(spans))


def test_folder_in_the_place_of_the_lock_is_an_engine_error(tmp_path: Path):
    with pytest.raises(EngineError, match="cannot use the host lock"), host_lock(label="x", path=tmp_path):
        pytest.fail("a folder cannot be locked")


@pytest.mark.parametrize(
    "note",
    [
        "[" * 200_000,
        '{"pid": 1, "since": "\\u001b[2J\\nfake", "label": "\\u001b[31m"}',
        '{"pid": "\\u001b[2J", "since": "now", "label": "x"}',
        "null",
    ],
    ids=["deep", "control characters", "no process", "no table"],
)
def test_a_note_that_somebody_else_wrote_is_shown_without_harm(tmp_path, note):
    path = tmp_path / "lock"
    with host_lock(label="one", path=path):
        path.write_text(note, encoding="utf-8")
        said = holder_of(path)
    assert said
    assert said.isprintable()
