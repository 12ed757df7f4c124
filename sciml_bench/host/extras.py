"""The command that installs an optional part of this package, from where the package itself came."""

from __future__ import annotations

import json
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import unquote, urlsplit

NAME = "sciml-bench"


def install_command(extra: str) -> str:
    """Return the pip command for an extra: of a package index, a checkout, a wheel or a repository.

    It names no folder of this machine, since plans and reports keep it: in a checkout, and next to a wheel, it is to
    be run there. Source: ``direct_url.json`` of the installed package (PEP 610), which pip writes unless it came from
    an index.
    """
    origin = _direct_url()
    url = urlsplit(str(origin.get("url", "")))
    details = {key: origin[key] for key in ("dir_info", "vcs_info") if isinstance(origin.get(key), dict)}
    if "dir_info" in details:
        return f'pip install {"-e " if details["dir_info"].get("editable") else ""}".[{extra}]"'
    if url.scheme == "file":
        return f'pip install "./{_plain(PurePosixPath(unquote(url.path)).name)}[{extra}]"'
    if "vcs_info" in details and url.hostname:
        vcs = details["vcs_info"]
        source = f"{vcs.get('vcs', 'git')}+{url.scheme}://{url.hostname}{url.path}@{vcs.get('commit_id', 'HEAD')}"
        return f'pip install "{NAME}[{extra}] @ {_plain(source)}"'
    return f'pip install "{NAME}[{extra}]"'


def _plain(text: str) -> str:
    """The text without characters that a shell reads inside quotes."""
    return "".join(letter for letter in text if letter not in '"$`\\\n')


def _direct_url() -> dict[str, Any]:
    try:
        found = json.loads(distribution(NAME).read_text("direct_url.json") or "{}")
    except (PackageNotFoundError, OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
