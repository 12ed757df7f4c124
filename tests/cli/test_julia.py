"""``julia setup`` and ``julia status`` with programs that stand in for Julia."""

from __future__ import annotations

import stat
import sys
import textwrap
from pathlib import Path

import pytest

from sciml_bench.adapters.julia import executable, installation, optional_parts, self_check
from sciml_bench.cli import exit_codes
from sciml_bench.host.extras import install_command

# A Julia that "prepares" a project as the real one does: it leaves a manifest, and in a file how long it took.
PREPARES = """
project = next(word for word in sys.argv if word.startswith("--project=")).removeprefix("--project=")
with open(project + "/Manifest.toml", "w") as manifest:
    manifest.write('[[deps.SciMLBench]]\\nversion = "0.1.0"\\n[[deps.PythonCall]]\\nversion = "%s"\\n' % sys.argv[-1])
print("installing 200 packages")
for name in range(200):
    print("  12345.6 ms  %s SciMLBench%d" % ("✓?"[name % 9 == 0], name))
script = next(at for at, word in enumerate(sys.argv) if word.endswith("prepare.jl"))
with open(sys.argv[script + 2], "w") as result:
    result.write("12.5")
"""


@pytest.fixture(autouse=True)
def _nothing_set_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PYTHON_JULIACALL_EXE", "PYTHON_JULIACALL_PROJECT", "JULIA_DEPOT_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SCIML_BENCH_JULIA", str(tmp_path / "julia.json"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setattr(installation, "juliacall_version", lambda: "0.9.34")
    monkeypatch.setattr("sciml_bench.adapters.julia.setting_up.juliacall_version", lambda: "0.9.34")


@pytest.fixture
def works(monkeypatch: pytest.MonkeyPatch) -> None:
    """All parts work, but Enzyme."""
    found = dict.fromkeys(self_check.PARTS, "") | {"enzyme": "no libEnzyme"}
    monkeypatch.setattr(self_check, "parts", lambda _installation, _environment, _say: found)


def julia(folder: Path, version: str = "1.10.8", body: str = PREPARES) -> str:
    """A program that says the version of a Julia and else does what ``body`` says."""
    path = folder / f"julia-{version}"
    text = f"""#!{sys.executable}
import os, signal, sys
if "--version" in sys.argv:
    print("julia version {version}")
    sys.exit()
{textwrap.dedent(body)}
"""
    path.write_text(text, encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def options(tmp_path: Path, *more: str) -> tuple[str, ...]:
    return ("--project", str(tmp_path / "project"), "--depot", str(tmp_path / "depot"), *more)


def test_setup_and_status(cli, tmp_path, works):
    path = julia(tmp_path)
    done = cli("julia", "setup", "--julia", path, *options(tmp_path))
    assert done.code == exit_codes.OK, done.err
    assert "installing 200 packages" in done.err
    assert "180 packages compiled" in done.err
    assert len(done.err.splitlines()) < 20
    assert "Julia is ready, except enzyme" in done.out

    status = cli("julia", "status", "--json")
    assert status.code == exit_codes.OK
    assert status.json["ready"] is True
    assert status.json["julia"] == "1.10.8"
    assert status.json["packages"] == {"SciMLBench": "0.1.0", "PythonCall": "0.9.34"}
    assert status.json["precompile_s"] == 12.5
    assert status.json["parts"]["enzyme"] == "no libEnzyme"
    assert status.json["depot"].startswith(str(tmp_path / "depot"))

    text = cli("julia", "status")
    assert text.out.splitlines()[-1] == "ready"
    assert "enzyme: no libEnzyme" in text.out


def test_an_optional_part_is_added_and_kept(cli, tmp_path, works):
    words = """
    added = "".join('[[deps.%s]]\\nversion = "1.0.0"\\n' % name for name in sys.argv[-2:-1] if name == "SimpleChains")
    project = next(word for word in sys.argv if word.startswith("--project=")).removeprefix("--project=")
    """
    path = julia(tmp_path, body=textwrap.dedent(words) + PREPARES.replace("% sys.argv[-1])", "% sys.argv[-1] + added)"))
    assert cli("julia", "setup", "--julia", path, *options(tmp_path)).code == exit_codes.OK
    told = "simplechains: not added, it is optional; run: sciml-bench julia setup --with simplechains"
    assert told in cli("julia", "status").out
    assert list(cli("julia", "status", "--json").json["absent"]) == ["simplechains", "diffeqpy", "mooncake"]

    for more in (("--with", "simplechains"), ()):
        assert cli("julia", "setup", "--julia", path, *options(tmp_path, *more)).code == exit_codes.OK
        status = cli("julia", "status", "--json").json
        assert status["packages"]["SimpleChains"] == "1.0.0"
        assert list(status["absent"]) == ["diffeqpy", "mooncake"]


def test_a_part_may_be_more_than_one_package(cli, tmp_path, works):
    path = julia(tmp_path, body=f'print("asked for", *sys.argv[-3:-1])\n{PREPARES}')
    done = cli("julia", "setup", "--julia", path, *options(tmp_path, "--with", "diffeqpy"))
    assert done.code == exit_codes.OK
    assert "asked for OrdinaryDiffEq OrdinaryDiffEqDefault" in done.err


def test_optional_parts_are_tried_where_they_were_added(tmp_path, monkeypatch):
    def tried(*names: str) -> list[str]:
        manifest = "".join(f'[[deps.{name}]]\nversion = "1.0.0"\n' for name in names)
        (tmp_path / "Manifest.toml").write_text(manifest)
        return list(self_check.parts(installation.Installation("julia", str(tmp_path)), {}, lambda _line: None))

    monkeypatch.setattr(self_check, "_try", lambda *_: ("", 0.0))
    assert tried("SciMLBench") == list(self_check.PARTS)
    added = tried("SimpleChains", "OrdinaryDiffEq", "OrdinaryDiffEqDefault", "Mooncake")
    assert optional_parts.present(tmp_path) == ("simplechains", "diffeqpy", "mooncake")
    assert added == [*self_check.PARTS, "mooncake", "simplechains"]


def test_a_part_that_there_is_none_of(cli):
    done = cli("julia", "setup", "--with", "flux")
    assert done.code == exit_codes.USAGE
    assert "simplechains" in done.err


def test_status_without_julia(cli):
    done = cli("julia", "status")
    assert done.code == exit_codes.CHECK_FAILED
    assert "run: sciml-bench julia setup" in done.out


def test_setup_without_juliacall(cli, tmp_path, monkeypatch):
    monkeypatch.setattr("sciml_bench.adapters.julia.setting_up.juliacall_version", lambda: "")
    done = cli("julia", "setup", "--julia", julia(tmp_path))
    assert done.code == exit_codes.USAGE
    assert install_command("julia") in done.err


def test_no_julia_offline(cli, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    done = cli("julia", "setup", "--offline")
    assert done.code == exit_codes.USAGE
    assert "Julia 1.10.3 or newer is missing" in done.err


def test_a_julia_that_is_named_must_exist(cli, tmp_path):
    done = cli("julia", "setup", "--julia", str(tmp_path / "nowhere"))
    assert done.code == exit_codes.USAGE
    assert "there is no such program" in done.err


def test_a_julia_that_is_too_old(cli, tmp_path):
    done = cli("julia", "setup", "--julia", julia(tmp_path, "1.10.2"))
    assert done.code == exit_codes.USAGE
    assert "is Julia 1.10.2, but 1.10.3 or newer is needed" in done.err


def test_an_old_julia_on_the_path_is_passed_over(tmp_path):
    Path(julia(tmp_path, "1.9.4")).rename(tmp_path / "julia")
    said: list[str] = []
    with pytest.raises(Exception, match="or newer is missing"):
        executable.find(None, {"PATH": str(tmp_path)}, offline=True, say=said.append)
    assert "is Julia 1.9.4" in said[0]


def test_a_program_that_is_no_julia(cli, tmp_path):
    path = tmp_path / "other"
    path.write_text("#!/bin/sh\necho hello\n")
    path.chmod(0o755)
    done = cli("julia", "setup", "--julia", str(path))
    assert done.code == exit_codes.USAGE
    assert "does not look like Julia" in done.err


def test_a_project_that_cannot_be_resolved(cli, tmp_path):
    broken = 'print("ERROR: Unsatisfiable requirements for PythonCall"); sys.exit(1)'
    for folder in ("registries", "packages"):
        (tmp_path / "depot" / folder).mkdir(parents=True)
    done = cli("julia", "setup", "--julia", julia(tmp_path, body=broken), *options(tmp_path, "--offline"))
    assert done.code == exit_codes.USAGE
    assert "Unsatisfiable requirements" in done.err
    assert "on a machine with a network" in done.err


def test_an_empty_depot_without_a_network_is_named_before_julia_tries_it(cli, tmp_path):
    done = cli("julia", "setup", "--julia", julia(tmp_path), *options(tmp_path, "--offline"))
    assert done.code == exit_codes.USAGE
    assert f"no packages of Julia are in {tmp_path / 'depot'}" in done.err


def test_of_a_long_trace_the_first_error_is_the_reason(cli, tmp_path):
    body = """
    print("ERROR: LoadError: Unsatisfiable requirements detected for package Sundials")
    for depth in range(200):
        print(f" [{depth}] resolve at operations.jl:{depth}")
    print("ERROR: Unhandled Task error")
    sys.exit(1)
    """
    done = cli("julia", "setup", "--julia", julia(tmp_path, body=body), *options(tmp_path))
    assert done.code == exit_codes.USAGE
    assert "(Unsatisfiable requirements detected for package Sundials)" in done.err
    assert "operations.jl" not in done.err


def test_lines_of_others_do_not_hide_that_it_worked(cli, tmp_path, works):
    """Processes that Julia leaves behind write into the same stream, also within a line."""
    body = PREPARES + 'sys.stderr.write("ERROR: in the background")\n'
    done = cli("julia", "setup", "--julia", julia(tmp_path, body=body), *options(tmp_path))
    assert done.code == exit_codes.OK, done.err


def test_a_julia_that_did_nothing_and_calls_it_success(cli, tmp_path):
    done = cli("julia", "setup", "--julia", julia(tmp_path, body="sys.exit(0)"), *options(tmp_path))
    assert done.code == exit_codes.USAGE
    assert "to its end" in done.err


def test_julia_that_dies_of_a_signal(cli, tmp_path):
    dies = "os.kill(os.getpid(), signal.SIGSEGV)"
    done = cli("julia", "setup", "--julia", julia(tmp_path, body=dies), *options(tmp_path))
    assert done.code == exit_codes.USAGE
    assert "ended by signal SIGSEGV" in done.err


def test_a_depot_that_cannot_be_written(cli, tmp_path):
    (tmp_path / "file").write_text("")
    done = cli("julia", "setup", "--julia", julia(tmp_path), "--project", str(tmp_path / "project"),
               "--depot", str(tmp_path / "file" / "depot"))  # fmt: skip
    assert done.code == exit_codes.USAGE
    assert "cannot be written" in done.err
    assert "--depot" in done.err


def test_a_julia_that_solves_nothing(cli, tmp_path, monkeypatch):
    monkeypatch.setattr(self_check, "parts", lambda *_: {"forward": "UndefVarError: Rodas5P"})
    done = cli("julia", "setup", "--julia", julia(tmp_path), *options(tmp_path))
    assert done.code == exit_codes.CHECK_FAILED
    assert "UndefVarError: Rodas5P" in done.err


def test_the_trial_tells_of_a_worker_that_dies(tmp_path, monkeypatch):
    """The process that would load Julia is replaced by one that is ended by a signal."""
    dying = tmp_path / "python"
    dying.write_text("#!/bin/sh\nkill -SEGV $$\n")
    dying.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(dying))
    said: list[str] = []
    found = self_check.parts(installation.Installation("julia", "project"), {}, said.append)
    assert found == {"forward": "Julia was ended by signal SIGSEGV"}


@pytest.mark.parametrize(
    ("message", "readable"),
    [
        (
            "MethodError: no method matching solve(::Type{SciMLBase.ODEProblem{Vector{Float64",
            "MethodError: no method matching solve(…)",
        ),
        ("could not load symbol\nStacktrace: [1] f", "could not load symbol"),
        ("word " * 100, ("word " * 60).strip() + " …"),
    ],
)
def test_messages_of_parts_end_at_a_word(message: str, readable: str):
    assert self_check.readable(message) == readable


def test_help_does_not_load_the_installation(cli):
    done = cli("julia", "--help")
    assert done.code == exit_codes.OK
    assert "setup" in done.out
