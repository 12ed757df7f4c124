"""Large runs are read and drawn by several processes, and no script that asks for a report waits for itself."""

from __future__ import annotations

import datetime
import os
import subprocess
import sys
from pathlib import Path

import pytest
from stubs import compared

from sciml_bench.analysis import parallel_jsonl, process_pool
from sciml_bench.errors import SciMLBenchError
from sciml_bench.render.html import drawings
from sciml_bench.render.html.page import report

NOW = datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC)

# Every run is a large one, and there are processors for two processes.
LARGE = """
import datetime, os, sys
os.sched_getaffinity = lambda _process: {0, 1}
from pathlib import Path
from sciml_bench.analysis import parallel_jsonl
from sciml_bench.render.html import drawings
parallel_jsonl.LONG_BYTES = drawings.MANY_CELLS = 1
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return compared.run(tmp_path_factory.mktemp("runs"), "run", blocks=3)


@pytest.fixture(scope="module")
def text(run):
    return report([run], NOW)


def scripted(tmp_path: Path, script: str) -> subprocess.CompletedProcess[str]:
    file = tmp_path / "script.py"
    file.write_text(LARGE + script, encoding="utf-8")
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    return subprocess.run(
        [sys.executable, str(file)], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=120, check=False
    )


def test_a_large_run_is_drawn_by_several_processes_and_looks_the_same(run, text, monkeypatch):
    monkeypatch.setattr(drawings, "MANY_CELLS", 1)
    assert report([run], NOW, processes=2) == text


def test_a_long_file_is_read_by_several_processes_and_reads_the_same(run, text, monkeypatch):
    monkeypatch.setattr(parallel_jsonl, "LONG_BYTES", 1)
    assert report([run], NOW, processes=2) == text


def test_pieces_of_a_file_are_whole_lines_with_their_numbers(tmp_path):
    path = tmp_path / "lines"
    lines = [b"a" * length + b"\r\x0b\n" for length in (0, 5, 40, 1, 0, 12)] + [b"cut off"]
    path.write_bytes(b"".join(lines))
    for size in (1, 7, 30, 1000):
        found = [item for piece in parallel_jsonl.pieces(path, size) for item in parallel_jsonl._lines(path, piece)]
        assert found == list(enumerate(lines, start=1))


def test_a_script_that_asks_for_a_report_starts_no_process(run, tmp_path):
    done = scripted(
        tmp_path,
        "from sciml_bench.render.html.page import report\nfrom sciml_bench.record.run_folder import Run\n"
        f"page = report([Run.open(Path({str(run.folder)!r}))], datetime.datetime.now(datetime.UTC))\n"
        "print('made', page.startswith('<!DOCTYPE html>'))\n",
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "made True\n", "")


def test_a_script_that_calls_the_command_unguarded_ends_with_a_message(run, tmp_path):
    done = scripted(
        tmp_path, f"from sciml_bench.cli.main import main\nsys.exit(main(['report', {str(run.folder)!r}]))\n"
    )
    assert done.returncode == 2
    # A process that was still starting may complain as well; the last word is the command's.
    assert done.stderr.splitlines()[-1].startswith("ERROR: a process that was started to help has ended")


def test_a_process_that_dies_is_told_in_one_line():
    with pytest.raises(SciMLBenchError, match="memory is short"), process_pool.process_pool(1) as pool:
        pool.submit(os._exit, 1).result()


def test_what_was_started_to_help_starts_nothing():
    assert process_pool.available() >= 1
    with process_pool.process_pool(1) as pool:
        assert pool.submit(process_pool.available).result() == 1
