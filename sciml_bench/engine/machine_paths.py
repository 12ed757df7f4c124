"""Text of a worker without the folders of this machine: records are published."""

from __future__ import annotations

import re
from pathlib import Path

_CHECKOUT = f"{Path(__file__).resolve().parents[2]}/"
# Before the packages of an environment, of a Julia depot, and before the file of an emitted source.
_FOLDERS = re.compile(r"(?<![\w.~/-])/(?:[^\s'\"`:;,()<>/]+/)*?(?:(?:site|dist)-packages|sciml_bench_source_\w+)/")
_OF_JULIA = re.compile(r"(?<![\w.~/-])/(?:[^\s'\"`:;,()<>/]+/)*?packages/(?=[A-Z]\w*/\w{4,6}/)")


def without_machine_paths(text: str) -> str:
    """The text in which the files of packages, of this suite, and of emitted sources have no folders before them, and a
    user's folder is ``~``.
    """
    if "/" not in text:
        return text
    text = _OF_JULIA.sub("", _FOLDERS.sub("", text)).replace(_CHECKOUT, "")
    home = str(Path.home())
    return re.sub(rf"(?<![\w./-]){re.escape(home)}(?=/)", "~", text) if home != "/" else text
