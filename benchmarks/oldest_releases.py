"""Whether adapters work with the oldest releases that this package allows, each in an environment of its own.

    python benchmarks/oldest_releases.py                 every adapter of Python packages that are installed
    python benchmarks/oldest_releases.py diffrax casadi  only these

The lower bounds of an adapter's extra become pins; uv chooses the rest. The conformance suite then runs in that
environment. Exit code 1 if an environment cannot be made or a check fails. Needs the extra ``env``, and the network for
releases that uv has not downloaded before.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tomllib
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT)]

from sciml_bench.adapters import registry  # noqa: E402
from sciml_bench.record.task import CONVENTIONAL  # noqa: E402

LIMIT_S = 3600
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
#: Its packages are dependencies of this one, without an extra.
BASE = {"scipy": ("numpy", "scipy")}


def main() -> int:
    """Print a line for each adapter."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("adapters", nargs="*", help="names of adapters")
    named = parser.parse_args().adapters
    works = True
    for name in named or [name for name in registry.names() if tested(name)]:
        oldest = pins(name)
        if not oldest:
            parser.error(f"{name} has no packages of Python with lower bounds")
        print(f"{name}: {', '.join(oldest)}", flush=True)
        environment = f"oldest-{name}"
        made = command("env", "make", environment, *oldest)
        done = command("adapter", "check", f"{name}@{environment}") if made.returncode == 0 else made
        wrong = [line for line in done.stdout.splitlines() if line.startswith("failed")]
        print("\n".join(f"  {line}" for line in (*wrong, *done.stdout.splitlines()[-1:])), flush=True)
        works &= done.returncode == 0
    return 0 if works else 1


def tested(name: str) -> bool:
    """Return whether an adapter solves equations by packages of Python that are installed."""
    declared = registry.adapter(name)
    return declared.track != CONVENTIONAL and bool(pins(name)) and registry.missing(declared) is None


def pins(name: str) -> list[str]:
    """The oldest releases of the packages of an adapter."""
    extra = registry.adapter(name).extra
    if "juliacall" in registry.adapter(name).packages:
        return []
    listed = PROJECT["optional-dependencies"][extra] if extra else PROJECT["dependencies"]
    found: list[str] = []
    for requirement in map(Requirement, listed):
        if not extra and requirement.name not in BASE.get(name, ()):
            continue
        found += [f"{requirement.name}=={each.version}" for each in requirement.specifier if each.operator == ">="]
    return found


def command(*words: str) -> subprocess.CompletedProcess[str]:
    """A command of ``sciml-bench``, with all that it says."""
    return subprocess.run(
        [sys.executable, "-m", "sciml_bench", *words],
        cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, timeout=LIMIT_S,
    )  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
