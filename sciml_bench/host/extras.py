"""The command that installs an optional part of this package, from where the package itself came."""

from __future__ import annotations

import json
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

NAME = "sciml-bench"


def install_command(extra: str) -> str:
    """Return the pip command for an extra: of a package index, a checkout, a wheel or a repository.

    Source: ``direct_url.json`` of the installed package (PEP 610), which pip writes unless it came from an index.
    """
    origin = _direct_url()
    url = str(origin.get("url", ""))
    if "dir_info" in origin:
        folder = Path(url2pathname(urlsplit(url).path))
        place = "." if folder == Path.cwd() else str(folder)
        editable = "-e " if origin["dir_info"].get("editable") else ""
        return f'pip install {editable}"{place}[{extra}]"'
    if url:
        vcs = origin.get("vcs_info", {})
        source = f"{vcs['vcs']}+{url}@{vcs['commit_id']}" if vcs else url
        return f'pip install "{NAME}[{extra}] @ {source}"'
    return f'pip install "{NAME}[{extra}]"'


def _direct_url() -> dict[str, Any]:
    try:
        text = distribution(NAME).read_text("direct_url.json")
    except PackageNotFoundError:
        return {}
    found = json.loads(text) if text else {}
    return found if isinstance(found, dict) else {}
