"""Writes every problem file and the truths beside it: ``python -m reference.adversarial.write`` in tests/."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from references.adversarial import negligible, pulses, scales, stiff, windows
from references.adversarial.attack import Attack

FOLDER = Path(__file__).parent
TRUTHS = FOLDER / "truths.json"
ATTACKS: tuple[Attack, ...] = tuple(
    attack for family in (pulses, windows, negligible, stiff, scales) for attack in family.ATTACKS
)


def main(*names: str) -> None:
    """Write those that are named, or all."""
    truths = json.loads(TRUTHS.read_text()) if TRUTHS.is_file() else {}
    for attack in ATTACKS:
        if names and attack.name not in names:
            continue
        began = time.process_time()
        (FOLDER / f"{attack.name}.toml").write_text(attack.toml())
        truths[attack.name] = attack.truth()
        print(f"{attack.name}: {time.process_time() - began:.2f} s", flush=True)
    known = {attack.name: truths[attack.name] for attack in ATTACKS if attack.name in truths}
    TRUTHS.write_text(json.dumps(known, indent=1) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
