"""Processes that end with their parent."""

from __future__ import annotations

import subprocess
import sys
import time

import psutil
import pytest

CHILD = """
import time
from sciml_bench.host.processes.parent import end_with_parent
end_with_parent()
print("ready", flush=True)
time.sleep(600)
"""
PARENT = f"""
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", {CHILD!r}], stdout=subprocess.PIPE, start_new_session=True)
child.stdout.readline()
print(child.pid, flush=True)
child.wait()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a process that its parent ended")
def test_a_child_in_a_separate_session_ends_with_a_parent_that_is_killed():
    with subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        child = psutil.Process(int(parent.stdout.readline()))
        parent.kill()
        # Whoever inherits it may not ask for its exit code.
        while child.is_running() and child.status() != psutil.STATUS_ZOMBIE:
            time.sleep(0.01)
