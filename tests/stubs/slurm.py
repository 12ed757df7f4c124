"""A Slurm of two virtual nodes on this machine, which ends with the tests."""

from __future__ import annotations

import getpass
import os
import platform
import shutil
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import psutil

DAEMONS = ("slurmctld", "slurmd", "sbatch", "srun", "scontrol")
WAIT_S = 60.0

_CONF = """\
ClusterName=two
SlurmctldHost=localhost(127.0.0.1)
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/none
CredType=cred/none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SlurmdParameters=config_overrides
SlurmctldPort={ports[0]}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/%n.log
ReturnToService=2
SlurmdTimeout=20
KillWait=5
MinJobAge=10
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
MpiDefault=none
NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[1]} CPUs=2
NodeName=n2 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[2]} CPUs=2
PartitionName=low Nodes=n[1-2] Default=YES MaxTime=60 State=UP PriorityTier=1
PartitionName=high Nodes=n[1-2] MaxTime=60 State=UP PriorityTier=2
"""


class TwoNodes:
    """The daemons of one controller and two nodes, n1 and n2, with the partitions low and high, which preempts."""

    def __init__(self, folder: Path):
        self._folder = folder
        (folder / "state").mkdir(parents=True)
        self.conf = folder / "slurm.conf"
        self.conf.write_text(
            _CONF.format(user=getpass.getuser(), folder=folder, host=platform.node(), ports=_free_ports(3))
        )
        self.variables: Mapping[str, str] = {**os.environ, "SLURM_CONF": str(self.conf)}
        self._daemons: dict[str, subprocess.Popen[bytes]] = {}

    def start(self) -> bool:
        """Start all, and wait for both nodes; returns whether they came."""
        self._start("controller", ["slurmctld", "-D"])
        for node in ("n1", "n2"):
            self.start_node(node)
        deadline_s = time.monotonic() + WAIT_S
        while self.said("sinfo", "-h", "-p", "low", "-t", "idle", "-o", "%D").strip() != "2":
            if time.monotonic() > deadline_s:
                return False
            time.sleep(0.2)
        return True

    def start_node(self, node: str) -> None:
        """Start a node's daemon."""
        step = shutil.which("slurmstepd") or "/usr/sbin/slurmstepd"
        self._start(node, ["slurmd", "-D", "-N", node, "-d", step])

    def kill_node(self, node: str) -> None:
        """End a node as a power failure does: its daemon, and all that it started."""
        spool = f"spool-{node}"
        daemon = self._daemons.pop(node)
        daemon.kill()
        daemon.wait()
        for process, words in _processes():
            # The step's daemon names its job only; its batch script lies in the node's folder.
            if any(spool in word and str(self._folder) in word for word in words):
                _kill_tree(process)

    def pin(self, processors: Sequence[int]) -> None:
        """Keep both nodes, and all that they start, on these processors, as control groups do."""
        for node in ("n1", "n2"):
            psutil.Process(self._daemons[node].pid).cpu_affinity(list(processors))

    def stop(self) -> None:
        """End all daemons and their jobs."""
        self.said("scancel", "-u", getpass.getuser())
        for node in [name for name in self._daemons if name != "controller"]:
            self.kill_node(node)
        for daemon in self._daemons.values():
            daemon.kill()
            daemon.wait()

    def said(self, *command: str) -> str:
        """The output of a command of Slurm."""
        done = subprocess.run(command, env=self.variables, capture_output=True, text=True, timeout=WAIT_S, check=False)
        return done.stdout

    def _start(self, name: str, command: Sequence[str]) -> None:
        log = (self._folder / f"{name}.out").open("ab")
        with log:
            self._daemons[name] = subprocess.Popen(command, env=self.variables, stdout=log, stderr=log)


def _processes() -> list[tuple[psutil.Process, list[str]]]:
    """All processes with their command lines, without those that end meanwhile."""
    found: list[tuple[psutil.Process, list[str]]] = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            found.append((process, process.cmdline()))
    return found


def _kill_tree(script: psutil.Process) -> None:
    """End a batch script with its parent, the daemon of the step, and all that it started."""
    with suppress(psutil.Error):
        root = script.parent() or script
        for process in [root, *root.children(recursive=True)]:
            with suppress(psutil.NoSuchProcess):
                process.kill()


def _free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()
