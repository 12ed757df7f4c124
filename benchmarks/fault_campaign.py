"""Faults on purpose, and what becomes of them: kills, full disks, damaged records, hostile files, lying adapters.

    python benchmarks/fault_campaign.py                     all of it, about 1300 injections
    python benchmarks/fault_campaign.py --share 0.1         a tenth of each kind
    python benchmarks/fault_campaign.py kills files         only these kinds

A fault is survived if nothing that was recorded is lost, the command ends and leaves no process behind, it says in a
sentence what is wrong, no adapter that computes nothing is called ok, and no changed record verifies. A fault of
another end is printed with its seed, by which it is repeated. Exit code 1 if there is one.
"""

from __future__ import annotations

import argparse
import dataclasses
import errno
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path

import psutil

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from sciml_bench.references.progress import ONE_THREAD  # noqa: E402

# Commands set this before NumPy is there; their forks here have the parent's NumPy, whose threads would wait for work.
os.environ.update(ONE_THREAD)

from sciml_bench.references.store import reference_path  # noqa: E402
from sciml_bench.spec.load import load_problem  # noqa: E402

STORED = ROOT / "results" / "events"
LIMIT_S, LIMIT_WALL_S, LIMIT_BYTES = 10, 60, 2**30
# Python does not notice when it writes half a file of byte code.
VARIABLES = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
RUN = ("run", "decay.toml", "--adapter", "scipy", "--method", "rk45", "--profile", "smoke", "--out", "runs")
DECAY = """
spec = 1
name = "decay"
title = "A decay"

[time]
t1 = 1

[parameters]
k = 2

[states]
y = 1

[equations]
y = "-k*y"
"""
SURVIVED, LOST, HUNG, TRACEBACK, WRONG = "survived", "lost", "hung", "traceback", "wrong winner"
FATES = (SURVIVED, LOST, HUNG, TRACEBACK, WRONG)

Fate = tuple[str, str]
"""One of :data:`FATES`, and what was seen if it is not the first."""


def main() -> int:
    """Print a line for each kind and every bad end; the exit code says whether there is one."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kinds", nargs="*", help=f"any of {', '.join(KINDS)}")
    parser.add_argument("--share", type=float, default=1.0, help="the share of each kind's injections (default 1)")
    parser.add_argument("--seed", type=int, help="one injection of one kind, by its seed")
    options = parser.parse_args()
    # Workers import the adapters that lie.
    os.environ["PYTHONPATH"] = os.pathsep.join(sys.path[:2])
    if unknown := set(options.kinds) - set(KINDS):
        parser.error(f"no such kind: {', '.join(sorted(unknown))}; there are {', '.join(KINDS)}")
    print(f"{'kind':<10} {'injected':>8} " + " ".join(f"{fate:>12}" for fate in FATES) + "  seconds")
    clean = True
    for name in options.kinds or KINDS:
        count, inject = KINDS[name]
        seeds = [options.seed] if options.seed is not None else range(max(1, round(options.share * count)))
        start_s, fates, bad = time.monotonic(), Counter[str](), list[str]()
        for seed in seeds:
            with tempfile.TemporaryDirectory() as folder:
                fate, seen = inject(random.Random(f"{name} {seed}"), Path(folder))
            fates[fate] += 1
            if fate != SURVIVED:
                bad.append(f"  {name} --seed {seed}: {fate}: {seen}")
        took_s = time.monotonic() - start_s
        print(f"{name:<10} {len(seeds):>8} " + " ".join(f"{fates[fate]:>12}" for fate in FATES) + f"  {took_s:7.0f}")
        print("\n".join(bad), end="\n" if bad else "", flush=True)
        clean &= not bad
    return 0 if clean else 1


def killed(chance: random.Random, folder: Path) -> Fate:
    """A run whose process is killed at a random moment, up to three times, and is then finished."""
    (folder / "decay.toml").write_text(DECAY)
    kept: set[str] = set()
    for _ in range(chance.randint(1, 3)):
        process = _started(folder)
        with suppress(subprocess.TimeoutExpired):
            process.wait(chance.uniform(0.0, 5.0))
        _hit(process, chance)
        try:
            _, said = process.communicate(timeout=120)
        except subprocess.TimeoutExpired:
            process.kill()
            return HUNG, "it did not end after the signal"
        if "Traceback" in said:
            return TRACEBACK, said[-300:]
        if missing := kept - (recorded := _recorded(folder)):
            return LOST, f"records {sorted(missing)}"
        kept = recorded
    fate = _finished(folder, kept)
    left = [each.pid for each in psutil.process_iter() if _is_in(each, folder)]
    return (HUNG, f"processes {left} were left behind") if left and fate[0] == SURVIVED else fate


def _hit(process: subprocess.Popen[str], chance: random.Random) -> None:
    """Send a signal to a run, or to a process that it started; a stopped one continues later."""
    with suppress(psutil.Error):
        target = psutil.Process(process.pid)
        below = target.children(recursive=True)
        if below and chance.random() < 0.5:
            target = chance.choice(below)
        name = chance.choice(["KILL", "KILL", "TERM", "HUP", "INT", "QUIT", "STOP"])
        target.send_signal(signal.Signals[f"SIG{name}"])
        if name == "STOP":
            time.sleep(chance.uniform(0.0, 2.0))
            target.send_signal(signal.SIGCONT)


def _is_in(process: psutil.Process, folder: Path) -> bool:
    with suppress(psutil.Error):
        return process.is_running() and Path(process.cwd()).is_relative_to(folder)
    return False


FAILING = """
import os, sys
name, error, at = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
del sys.argv[1:4]
real, calls = getattr(os, name), 0

def failing(*given, **options):
    global calls
    calls += 1
    if calls != at:
        return real(*given, **options)
    if error:
        raise OSError(error, os.strerror(error))
    if name == "write":
        real(given[0], given[1][: len(given[1]) // 2])
    os._exit(9)

setattr(os, name, failing)
from sciml_bench.__main__ import main
sys.exit(main())
"""


def failing_call(chance: random.Random, folder: Path) -> Fate:
    """A run one of whose calls for files fails once, or is its last, which writes a half; then it is finished."""
    (folder / "decay.toml").write_text(DECAY)
    name = chance.choice(["write", "fsync", "replace", "open", "mkdir", "unlink", "link", "ftruncate"])
    error = chance.choice([errno.ENOSPC, errno.EIO, errno.EDQUOT, errno.EACCES, 0])
    at = chance.randint(1, 12)
    process = _started(folder, program=["-c", FAILING, name, str(error), str(at)])
    return _ended(process, folder, f"os.{name} number {at} fails with {error}")


def on_a_full_disk(chance: random.Random, folder: Path) -> Fate:
    """A run that can write files up to a random size only, as on a disk that is full; then there is room."""
    (folder / "decay.toml").write_text(DECAY)
    size = chance.choice([0, 1, 100, 1000, 5000, chance.randrange(1, 60_000)])

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
        # Writing then fails with an error, as it does on a full disk.
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

    return _ended(_started(folder, limited), folder, f"with files of up to {size} bytes")


def _ended(process: subprocess.Popen[str], folder: Path, how: str) -> Fate:
    """The fate of a run that cannot write: it ends with a sentence, and the same command finishes it."""
    try:
        _, said = process.communicate(timeout=120)
    except subprocess.TimeoutExpired:
        process.kill()
        return HUNG, how
    if "Traceback (most recent call last)" in said and "ERROR: " not in said:
        return TRACEBACK, f"{how}: {said[-300:]}"
    return _finished(folder, _recorded(folder))


def _started(
    folder: Path, before: Callable[[], None] | None = None, program: Sequence[str] = ("-m", "sciml_bench")
) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, *program, *RUN], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        text=True, errors="replace", env=VARIABLES, preexec_fn=before,
    )  # fmt: skip


def _recorded(folder: Path) -> set[str]:
    """The ids of all whole records."""
    found: set[str] = set()
    for path in folder.glob("runs/*/records.jsonl"):
        for line in path.read_text(errors="replace").splitlines():
            with suppress(ValueError, KeyError, TypeError):
                found.add(json.loads(line)["record_id"])
    return found


def _finished(folder: Path, kept: set[str]) -> Fate:
    """Run the command to its end: nothing is lost, and every run is whole and verifies.

    There are several if one had ended before its fault: the same command then begins another.
    """
    try:
        _, said = _started(folder).communicate(timeout=120)
    except subprocess.TimeoutExpired:
        return HUNG, "when it was resumed"
    if missing := kept - _recorded(folder):
        return LOST, f"records {sorted(missing)}"
    runs = [path.parent for path in folder.glob("runs/*/plan.json")]
    if not runs:
        return LOST, f"there is no run: {said[-300:]}"
    for run in runs:
        verify = [sys.executable, "-m", "sciml_bench", "verify", str(run)]
        done = subprocess.run(verify, env=VARIABLES, capture_output=True, text=True)
        if done.returncode != 0:
            return LOST, done.stdout[-300:] + done.stderr[-300:]
    return SURVIVED, ""


def damaged_record(chance: random.Random, folder: Path) -> Fate:
    """A stored run with one damaged record, which never verifies."""
    from faults.damage import damaged

    run = folder / "run"
    run.mkdir()
    for name in ("plan.json", "environment.json"):
        shutil.copy(STORED / name, run / name)
    lines = [line for line in (STORED / "records.jsonl").read_text().splitlines() if '"adapter":"scipy"' in line]
    at = chance.randrange(len(lines))
    lines[at] = damaged(lines[at], chance)
    (run / "records.jsonl").write_text("\n".join(lines) + "\n")
    command = chance.choice(
        [
            ["show", str(run), "--all"],
            ["export", str(run), "--to", "csv"],
            ["report", str(run), "-o", str(folder / "page.html")],
            ["compare", str(STORED), str(run)],
            ["query", "SELECT count(*) FROM points, cells", str(run)],
        ]
    )
    fate = _limited(command, (0, 1, 2))
    if fate[0] != SURVIVED:
        return fate
    fate = _limited(["verify", str(run)], (1,))
    return (WRONG, f"a damaged record verifies: {fate[1]}") if fate[1].startswith("exit code") else fate


def hostile_reference(chance: random.Random, folder: Path) -> Fate:
    """A problem whose stored reference is damaged, or is no file."""
    path = ROOT / "problems" / "nonstiff" / "lotka-volterra.toml"
    shutil.copy(path, folder)
    copy = reference_path(load_problem(folder / path.name))
    copy.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(reference_path(load_problem(path)), copy)
    data = bytearray(copy.read_bytes())
    match chance.randrange(5):
        case 0:
            copy.unlink()
            os.mkfifo(copy)
        case 1:
            copy.write_bytes(b"[" * 10**6)
        case 2:
            copy.write_bytes(data[: chance.randrange(len(data))])
        case _:
            for _ in range(chance.randint(1, 5)):
                data[chance.randrange(len(data))] = chance.randrange(256)
            copy.write_bytes(data)
    return _limited(["reference", "show", str(folder / path.name)], (0, 1, 2))


def hostile_file(chance: random.Random, folder: Path) -> Fate:
    """A problem of the catalog with one to four mistakes, each of a kind that strangers make or try."""
    from faults.mistakes import mistaken

    paths = sorted(path for path in (ROOT / "problems").glob("*/*.toml") if path.parent.name != "conventional")
    path = chance.choice(paths)
    text = path.read_text(encoding="utf-8")
    for _ in range(chance.randint(1, 4)):
        text = mistaken(text, chance)
    for data in path.parent.glob("*.csv"):
        shutil.copy(data, folder)
    (folder / "hostile.toml").write_text(text, encoding="utf-8", errors="surrogateescape")
    return _limited(["describe", str(folder / "hostile.toml")], (0, 2))


def _limited(command: list[str], allowed: tuple[int, ...]) -> Fate:
    """Carry a command out in a fork of this process, which has what it imports already."""
    from sciml_bench.cli.main import main as command_line

    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        held = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
        resource.setrlimit(resource.RLIMIT_AS, (held + LIMIT_BYTES, held + LIMIT_BYTES))
        # Of the processor: a machine that is busy is no hang.
        resource.setrlimit(resource.RLIMIT_CPU, (LIMIT_S, LIMIT_S + 1))
        said = ""
        try:
            with Path(os.devnull).open("w") as nowhere, redirect_stdout(nowhere), redirect_stderr(nowhere):
                code = command_line(command)
            said = "" if code in allowed else f"exit code {code}"
        except BaseException:
            said = traceback.format_exc()
        os.write(write, said.encode()[-2000:])
        os._exit(0)
    os.close(write)
    deadline = time.monotonic() + LIMIT_WALL_S
    while (ended := os.waitpid(pid, os.WNOHANG)) == (0, 0):
        if time.monotonic() > deadline:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            os.close(read)
            return HUNG, f"{' '.join(command)} ran past {LIMIT_WALL_S} s"
        time.sleep(0.01)
    with os.fdopen(read, "rb") as pipe:
        said = pipe.read().decode(errors="replace")
    if os.WIFSIGNALED(ended[1]) and os.WTERMSIG(ended[1]) == signal.SIGXCPU:
        return HUNG, f"{' '.join(command)} took more than {LIMIT_S} s of the processor"
    if ended[1]:
        return TRACEBACK, f"it died with status {ended[1]}"
    return (TRACEBACK, said[-600:]) if said else (SURVIVED, "")


LIARS = (
    "RemembersWhatIsClose", "RemembersThePoint", "RemembersAndShakes", "ShakesByInput", "Extrapolates",
    "LooseAfterFirst", "TightForTheScored", "ALittleLoose", "SolvesWhilePreparing", "PreparesTheTightest",
    "WorksInNextPrepare", "WorksInReading", "WorksBetweenCalls",
)  # fmt: skip


def lying_adapter(chance: random.Random, _folder: Path) -> Fate:
    """One of the adapters that lie, at a random tolerance and number of calls."""
    from stubs.tasks import stub_task

    from sciml_bench.engine.group import measure_cell
    from sciml_bench.engine.limits import Limits
    from sciml_bench.record.outcome import Outcome
    from sciml_bench.record.task import Point

    program = chance.choice(LIARS)
    task = stub_task(f"stubs.liars:{program}")
    # Calls that take no time fill a loop up to its largest number of calls, 200 and more.
    calls = chance.randint(100, 200)
    sampling = dataclasses.replace(task.sampling, steady_calls=calls, max_steady_calls=calls)
    rtol = 10.0 ** -chance.uniform(4, 8)
    task = dataclasses.replace(task, sampling=sampling, points=(Point(rtol, rtol),), seed=chance.randrange(2**31))
    measurement = measure_cell(task, Limits(60.0))
    if measurement.outcome is Outcome.INVALID:
        return SURVIVED, ""
    return WRONG, f"{program} at rtol {rtol:.1e}, {calls} calls: {measurement.outcome}: {measurement.message}"


KINDS: dict[str, tuple[int, Callable[[random.Random, Path], Fate]]] = {
    "kills": (80, killed),
    "disks": (60, on_a_full_disk),
    "calls": (100, failing_call),
    "records": (400, damaged_record),
    "files": (500, hostile_file),
    "references": (100, hostile_reference),
    "liars": (60, lying_adapter),
}


if __name__ == "__main__":
    sys.exit(main())
