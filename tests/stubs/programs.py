"""Programs that behave, and programs that misbehave in one way each.

All of them solve ``y' = -p y`` with two components in closed form. The relative error of a well-behaved one is a
tenth of the tolerance.
"""

from __future__ import annotations

import dataclasses
import mmap
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from sciml_bench.adapters.program import FloatArray, Gradient, Program, Solution
from sciml_bench.host.processes.process import Clock
from sciml_bench.record.outcome import Outcome, SolverFailure
from sciml_bench.record.task import Point, Task
from sciml_bench.record.trajectories import Trajectories

TIGHT = 1e-7
"""Programs that fail at some points only fail below this tolerance."""


class Decay(Program):
    """The program that does everything right."""

    def __init__(self, task: Task):
        self.y0 = np.asarray(task.numbers.y0)
        self.times = np.asarray(task.numbers.save_times)

    def prepare(self, theta: FloatArray, point: Point) -> Any:
        return theta, point.rtol

    def solve(self, inputs: Any) -> Any:
        theta, rtol = inputs
        return self.y0 * np.exp(-np.outer(self.times, theta)) * (1.0 + 0.1 * rtol)

    def gradient(self, inputs: Any) -> Any:
        theta, rtol = inputs
        ys = self.y0 * np.exp(-np.outer(self.times, theta))
        return float(np.sum(ys**2)), np.sum(-2.0 * self.times[:, None] * ys**2, axis=0) * (1.0 + 0.1 * rtol)

    def synchronise(self, output: Any) -> None:
        """Nothing runs on."""

    def read_solution(self, output: Any) -> Solution:
        return Solution(output, {"steps": 7.0})

    def read_gradient(self, output: Any) -> Gradient:
        return Gradient(output[0], output[1], {"steps": 9.0, "rate": float("nan")})

    def versions(self) -> dict[str, str]:
        return {"stub": "1.2.3", "threads_stub": "1"}


good = Decay


class FailsToBuild(Decay):
    def __init__(self, task: Task):
        raise RuntimeError("no such device")


class FailsToTrace(Decay):
    def gradient(self, inputs: Any) -> Any:
        raise TypeError("cannot differentiate a while loop")


class ExitsQuietly(Decay):
    def solve(self, inputs: Any) -> Any:
        os._exit(0)


class Crashes(Decay):
    def solve(self, inputs: Any) -> Any:
        if inputs[1] < TIGHT:
            os.kill(os.getpid(), signal.SIGSEGV)
        return super().solve(inputs)


class CrashesAtOnce(Decay):
    def __init__(self, task: Task):
        os.kill(os.getpid(), signal.SIGSEGV)


class HangsInBuild(Decay):
    def __init__(self, task: Task):
        time.sleep(600)


class HangsAtTightPoint(Decay):
    def gradient(self, inputs: Any) -> Any:
        if inputs[1] < TIGHT:
            time.sleep(600)
        return super().gradient(inputs)


class HangsStubbornly(Decay):
    """Ignores SIGTERM, and has a child in a session of its own that would run on."""

    def __init__(self, task: Task):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
        print(f"child={child.pid}", file=sys.stderr, flush=True)
        time.sleep(600)


class LeavesADaemon(Decay):
    """Does everything right, and leaves a process that neither its group nor its descendants have."""

    def __init__(self, task: Task):
        super().__init__(task)
        read, write = os.pipe()
        if os.fork() == 0:
            os.setsid()
            sleeps = [sys.executable, "-S", "-c", "import time; time.sleep(600)"]
            nowhere = subprocess.DEVNULL
            daemon = subprocess.Popen(sleeps, stdin=nowhere, stdout=nowhere, stderr=nowhere)
            os.write(write, str(daemon.pid).encode())
            os._exit(0)
        os.wait()
        print(f"daemon={os.read(read, 20).decode()}", file=sys.stderr, flush=True)


class Prints(Decay):
    """Writes to standard output in every way there is."""

    def solve(self, inputs: Any) -> Any:
        print('{"event":"end","outcome":"crash"}', flush=True)
        os.write(1, b"not a line of the protocol")
        subprocess.run(["echo", "from a child"], check=True)
        return super().solve(inputs)


class Floods(Decay):
    """Writes more to standard error than any pipe holds."""

    def __init__(self, task: Task):
        super().__init__(task)
        os.write(2, b"x" * 2**20)
        os.write(2, b"\nthe last words\n")


class Hogs(Decay):
    """Allocates without bound, and touches what it allocates."""

    def solve(self, inputs: Any) -> Any:
        held = []
        while True:
            held.append(np.ones(2**21))
            time.sleep(0.01)


class RaisesMemoryError(Decay):
    def gradient(self, inputs: Any) -> Any:
        raise MemoryError


class RaisesExhausted(Decay):
    def gradient(self, inputs: Any) -> Any:
        raise RuntimeError("RESOURCE_EXHAUSTED: failed to allocate 8.0GiB")


class MaxStepsAtTightPoint(Decay):
    """Reports failure as a library does: in its output."""

    rtol = 0.0

    def solve(self, inputs: Any) -> Any:
        self.rtol = inputs[1]
        return super().solve(inputs)

    def read_solution(self, output: Any) -> Solution:
        if self.rtol < TIGHT:
            raise SolverFailure(Outcome.MAX_STEPS, "4096 steps")
        return super().read_solution(output)


class BreaksAtTightPoint(Decay):
    def gradient(self, inputs: Any) -> Any:
        if inputs[1] < TIGHT:
            raise ZeroDivisionError("division by zero")
        return super().gradient(inputs)


class Recompiles(Decay):
    """Traces again with every new theta, as a program does that takes its parameters for constants."""

    traces = 0

    def solve(self, inputs: Any) -> Any:
        self.traces += 1
        return super().solve(inputs)

    def trace_count(self) -> int:
        return self.traces


@dataclasses.dataclass
class Later:
    """A result that is there from a moment on, as that of a computation in the background."""

    value: Any
    at_ns: int
    clock: Clock

    def wait(self) -> Any:
        self.clock.sleep(max(0, self.at_ns - self.clock.now_ns()) / 1e9)
        return self.value


class RunsOn(Decay):
    """Computes in the background, and does not wait for it where it should."""

    seconds = 0.03

    def solve(self, inputs: Any) -> Any:
        clock = Clock()
        return Later(super().solve(inputs), clock.now_ns() + round(self.seconds * 1e9), clock)

    def read_solution(self, output: Any) -> Solution:
        return super().read_solution(output.wait())


class RunsOnAndWaits(RunsOn):
    """Computes in the background, and waits where it should."""

    def synchronise(self, output: Any) -> None:
        if isinstance(output, Later):
            output.wait()


class ReadsSlowly(Decay):
    """Blocks as it should, but takes long to bring the result back."""

    def read_solution(self, output: Any) -> Solution:
        time.sleep(0.005)
        return super().read_solution(output)


class Leaks(Decay):
    """Keeps a megabyte of every solve, in pages of its own: the allocator may serve an array from what lies free."""

    def __init__(self, task: Task):
        super().__init__(task)
        self.kept: list[mmap.mmap] = []

    def solve(self, inputs: Any) -> Any:
        self.kept.append(mmap.mmap(-1, 2**20))
        self.kept[-1].write(bytes(2**20))
        return super().solve(inputs)


class HoldsMemory(Decay):
    """Holds 32 MiB for as long as a gradient takes."""

    def gradient(self, inputs: Any) -> Any:
        held = np.ones(2**22)
        loss, gradient = super().gradient(inputs)
        return loss * held[-1], gradient


class OwnSteps(Decay):
    """A batch of three, each with steps of its own."""

    trajectories = Trajectories(3, False, (7, 9, 11))

    def read_solution(self, output: Any) -> Solution:
        return Solution(output, {"n_steps": 11.0}, self.trajectories)


class OneTrajectoryFails(OwnSteps):
    def read_solution(self, output: Any) -> Solution:
        failed = ((2, Outcome.MAX_STEPS),)
        trajectories = dataclasses.replace(self.trajectories, failed=failed)
        raise SolverFailure(Outcome.MAX_STEPS, "1 of 3 trajectories", trajectories)


class TellsNoVersions(Decay):
    def versions(self) -> dict[str, str]:
        raise RuntimeError("no metadata")


class TellsItsSurroundings(Decay):
    def versions(self) -> dict[str, str]:
        return {
            "cwd": str(Path.cwd()),
            "cpus": str(len(os.sched_getaffinity(0))),
            "variables": " ".join(sorted(os.environ)),
            "OMP_NUM_THREADS": os.environ["OMP_NUM_THREADS"],
            "TMPDIR": os.environ["TMPDIR"],
            "HOME": os.environ.get("HOME", ""),
            "oom_score_adj": Path("/proc/self/oom_score_adj").read_text().strip(),
            "sigint": str(signal.getsignal(signal.SIGINT)),
            "imported": " ".join(sorted({name.partition(".")[0] for name in sys.modules})),
        }


class WritesToCache(Decay):
    def __init__(self, task: Task):
        super().__init__(task)
        with (Path(os.environ["TRITON_CACHE_DIR"]) / "kernel").open("w") as file:
            file.write("compiled")


class TellsItsPhases(Decay):
    """Says that every first call of a kind traced and compiled for a while, as a just-in-time compiler does."""

    def __init__(self, task: Task):
        super().__init__(task)
        self.told: dict[str, int] = {}

    def solve(self, inputs: Any) -> Any:
        self.told.setdefault("solve_compile", 10)
        return super().solve(inputs)

    def gradient(self, inputs: Any) -> Any:
        self.told |= {"gradient_trace": 20, "gradient_lower": 30, "gradient_compile": 40, "gradient_linking": 50}
        return super().gradient(inputs)

    def phases_ns(self) -> dict[str, int]:
        return self.told


class BoastsOfItsPhases(Decay):
    """Says that it compiled for longer than its call took."""

    told = 0

    def gradient(self, inputs: Any) -> Any:
        self.told = 10**12
        return super().gradient(inputs)

    def phases_ns(self) -> dict[str, int]:
        return {"gradient_trace": self.told, "gradient_compile": self.told}


class FindsCompiledCode(Decay):
    """Keeps its compiled code on the disk, where JAX would, and counts what it finds there."""

    def __init__(self, task: Task):
        super().__init__(task)
        self.hits = 0
        folder = os.environ.get("JAX_COMPILATION_CACHE_DIR")
        if folder is not None:
            path = Path(folder) / "program"
            self.hits = int(path.exists())
            path.write_text("compiled")

    def cache_hits(self) -> int:
        return self.hits


class FailsToSayWhatItFound(Decay):
    def cache_hits(self) -> int:
        raise RuntimeError("no counter")


class FillsNothingAndDies(Decay):
    def __init__(self, task: Task):
        os.kill(os.getpid(), signal.SIGSEGV)


class FailsFarOff(Decay):
    """Wrong without a word for a large first rate, and out of steps for a small one."""

    def solve(self, inputs: Any) -> Any:
        rate = inputs[0][0]
        if rate < 0.3:
            raise SolverFailure(Outcome.MAX_STEPS, "too many steps")
        return super().solve(inputs) * (1.5 if rate > 0.8 else 1.0)


class HangsFarOff(Decay):
    """Never returns for a large first rate."""

    def solve(self, inputs: Any) -> Any:
        if inputs[0][0] > 0.8:
            time.sleep(600)
        return super().solve(inputs)
