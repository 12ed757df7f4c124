"""Whole outputs: the files of ``transcripts`` hold commands and what each prints, to be read in the diff of a change.

A new case is a line ``$ sciml-bench …`` in one of the files; ``pytest tests/cli --regenerate`` writes what follows it.
Commands of one file run after each other in one folder, on stub problems, adapters and stored runs.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from needs import skip_without
from stubs import compared, drawn, verifiable

from sciml_bench.cli import exit_codes
from sciml_bench.cli.main import COMMANDS

FOLDER = Path(__file__).parent / "transcripts"
ROOT = Path(__file__).resolve().parents[2]
PROMPT = "$ sciml-bench "


def stored_runs() -> None:
    """Runs in ``results``: ``drawn``, ``base``, ``slow``, three that repeat ``base``, ``valid`` and ``altered``."""
    results = Path("results")
    made = {
        "drawn": drawn.run(results, problems=["robertson"], blocks=2),
        "base": compared.run(results, "base"),
        "slow": compared.run(results, "slow", seed=3, factors=2.5),
    }
    for name, run in made.items():
        run.folder.rename(results / name)
    for seed in (11, 12, 13):
        compared.run(results / "history", f"again-{seed}", seed=seed)
    for name in ("valid", "altered"):
        verifiable.made_run().write(results / name)
    records = results / "altered" / "records.jsonl"
    records.write_text(records.read_text().replace('"outcome": "ok"', '"outcome": "timeout"', 1))


def transcript(cli, commands: Iterator[str]) -> Iterator[str]:
    """Each command with its output, its errors and an exit code other than 0."""
    for command in commands:
        done = cli(*shlex.split(command.replace("PROBLEMS", str(ROOT / "problems"))))
        if done.code == exit_codes.USAGE:
            said = [line for line in done.err.splitlines() if line.startswith("ERROR: ")]
            assert (len(said), done.out) == (1, ""), command
        assert "Traceback" not in done.err
        yield f"{PROMPT}{command}\n{done.out}"
        yield "".join(f"! {line}\n" for line in done.err.splitlines())
        if done.code:
            yield f"[exit code {done.code}]\n"
        yield "\n"


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.txt")), ids=lambda path: path.stem)
def test_every_command_prints_what_its_transcript_says(cli, golden, path):
    if path.stem == "query":
        skip_without("duckdb")
    stored_runs()
    commands = re.findall(rf"^{re.escape(PROMPT)}(.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    assert commands
    golden(path, "".join(transcript(cli, iter(commands))))


def test_every_command_has_a_transcript():
    assert {path.stem for path in FOLDER.glob("*.txt")} == set(COMMANDS)
