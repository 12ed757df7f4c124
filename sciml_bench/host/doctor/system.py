"""Findings about what shares this machine: load, other processes, quotas, the hypervisor, memory."""

from __future__ import annotations

from collections.abc import Iterator

from sciml_bench.host.doctor.finding import Cure, Finding, check, disturbs, fine, note, unknown, written
from sciml_bench.host.doctor.readings import Readings

# Shares of one processor.
_BUSY_PROCESS = 0.05
_STEAL_NOTED, _STEAL_DISTURBS = 0.001, 0.01

_PRESSURE_DISTURBS_PERCENT = 5.0
_MEMORY_PRESSURE_PERCENT = 1.0
_LITTLE_MEMORY = 0.1
_MOST_NAMED = 5


@check("load", "load")
def load(readings: Readings) -> Finding | None:
    """Return how many processes wanted a processor in the last minute."""
    if readings.load is None:
        return unknown("the system does not report it")
    processors = len(readings.usable)
    found = "{:.2f}, {:.2f}, {:.2f} in the last 1, 5 and 15 minutes".format(*readings.load)
    found += f", on {processors} processors" if processors > 1 else ", on 1 processor" if processors else ""
    waiting = _pressure(readings, "cpu")
    found += "" if waiting is None else f"; something waited for a processor {waiting:.0f} % of the last 10 s"
    if readings.load[0] < 0.5 and (waiting or 0.0) < _PRESSURE_DISTURBS_PERCENT:
        return fine(found)
    return disturbs(
        found,
        "other processes take its processor, its caches and its memory bandwidth",
        Cure("top -o %CPU", advice="end or pause what you find, then wait a minute: the load is an average"),
    )


@check("processes", "other processes")
def neighbours(readings: Readings) -> Finding | None:
    """Other processes that use a processor now."""
    if readings.processes is None:
        return unknown("the system does not report it")
    busy = [(process, process.cpu_s / readings.window_s) for process in readings.processes]
    busy = [(process, share) for process, share in busy if share >= _BUSY_PROCESS]
    if not busy:
        return fine(f"none above {100 * _BUSY_PROCESS:.0f} % of a processor")
    named = busy[:_MOST_NAMED]
    found = ", ".join(f"{process.name} (process {process.pid}) {100 * share:.0f} %" for process, share in named)
    found += f" and {len(busy) - len(named)} more" if len(busy) > len(named) else ""
    root = any(not process.own for process, _ in named)
    numbers = " ".join(str(process.pid) for process, _ in named)
    sudo = "sudo " if root else ""
    return disturbs(
        f"{found} of a processor",
        "every time slice that they get is missing in some sample",
        Cure(
            f"{sudo}kill -STOP {numbers}",
            root=root,
            undo=f"{sudo}kill -CONT {numbers}",
            advice="pause only what you know; waiting until they have ended is better",
        ),
    )


@check("quota", "processor quota")
def quota(readings: Readings) -> Finding | None:
    """A limit on processor time that stops the process until the next period."""
    limits = dict(_quotas(readings))
    counts = [path for path in readings.matching("/sys/fs/cgroup*/cpu.stat") if _throttled(readings, path) is not None]
    if not limits and not counts and not readings.matching("/sys/fs/cgroup*/cpu.*"):
        return unknown("no control group of processors is visible")
    total = max((_throttled(readings, path) or 0 for path in counts), default=0)
    recent = max((readings.growth(path, "nr_throttled") or 0 for path in counts), default=0)
    if not limits:
        return fine("none")
    path, (processors, lift, undo) = min(limits.items(), key=lambda item: item[1][0])
    found = f"{processors:g} processors in {path.rpartition('/')[0]}, stopped {total} times, {recent} just now"
    why = (
        "a group that has used its share of a period stands still until the next one: samples gain up to 100 ms, "
        "and threads next to the worker use up its share"
    )
    cure = written(lift, path, f"'{undo}'", advice="for a container, start it with --cpuset-cpus instead of --cpus")
    return (disturbs if total else note)(found, why, cure)


@check("steal", "stolen time")
def steal(readings: Readings) -> Finding | None:
    """Processor time that the hypervisor gave to other guests."""
    looks = [_times(text) for text in (readings.before.get("/proc/stat"), readings.after.get("/proc/stat"))]
    if looks[0] is None or looks[1] is None:
        return unknown("the system does not report it")
    window = [after - before for before, after in zip(*looks, strict=True)]
    now = window[7] / sum(window) if sum(window) > 0 else 0.0
    ever = looks[1][7] / sum(looks[1]) if sum(looks[1]) else 0.0
    found = f"{100 * now:.1f} % just now, {100 * ever:.1f} % since the start of the system"
    worst = max(now, ever)
    if worst < _STEAL_NOTED:
        return fine(found)
    return (disturbs if worst >= _STEAL_DISTURBS else note)(
        found,
        "another guest of the same host ran while a worker wanted to; nothing inside this machine shows when",
        Cure(advice="nothing inside this machine helps: take a dedicated host, or one without shared cores"),
    )


@check("memory", "memory")
def memory(readings: Readings) -> Finding | None:
    """Little free memory, waiting for it, and swapping."""
    facts = {line.split(":")[0]: line.split()[1] for line in _lines(readings, "/proc/meminfo") if len(line.split()) > 1}
    try:
        total, available = int(facts["MemTotal"]), int(facts["MemAvailable"])
        swapped = int(facts.get("SwapTotal", "0")) - int(facts.get("SwapFree", "0"))
    except (KeyError, ValueError):
        return unknown("the system does not report it")
    moved = sum(readings.growth("/proc/vmstat", count) or 0 for count in ("pswpin", "pswpout"))
    waiting = _pressure(readings, "memory")
    found = f"{available / 2**20:.1f} of {total / 2**20:.1f} GiB available"
    found += f", {swapped / 2**20:.1f} GiB swapped out" if swapped else ", nothing swapped out"
    found += "" if waiting is None else f", something waited for memory {waiting:.1f} % of the last 10 s"
    short = available < _LITTLE_MEMORY * total or (waiting or 0.0) >= _MEMORY_PRESSURE_PERCENT
    if not (moved or short or swapped):
        return fine(found)
    fits = swapped < available / 2
    return (disturbs if moved or short else note)(
        found,
        "a page that was swapped out or reclaimed is read back from the disk inside somebody's sample",
        Cure("sudo swapoff -a", root=True, undo="sudo swapon -a")
        if swapped and fits
        else Cure("ps -eo pid,rss,comm --sort=-rss | head", advice="end what holds the memory"),
    )


@check("virtualisation", "virtualisation")
def virtual(readings: Readings) -> Finding | None:
    """Return whether this is a virtual machine or a container."""
    kinds: list[str] = []
    cpuinfo = readings.text("/proc/cpuinfo")
    if cpuinfo is not None and any("hypervisor" in line.split() for line in cpuinfo.splitlines() if "flags" in line):
        names = (readings.text(f"/sys/class/dmi/id/{name}") for name in ("sys_vendor", "product_name"))
        told = " ".join(name for name in names if name)
        kinds.append(f"a virtual machine ({told})" if told else "a virtual machine")
    if "/.dockerenv" in readings.after or "/run/.containerenv" in readings.after:
        kinds.append("a container")
    if kinds:
        return note(
            " and ".join(kinds),
            "clocks, temperature and neighbours are hidden: a drift cannot be explained from inside, "
            "only be kept out of comparisons by blocks",
        )
    if cpuinfo is None:
        return unknown("the system does not report it")
    return fine("none seen")


@check("aslr", "address layout")
def layout(readings: Readings) -> Finding | None:
    """Randomised addresses: noise between processes, and better left on."""
    state = readings.text("/proc/sys/kernel/randomize_va_space")
    if state is None:
        return unknown("the system does not report it")
    if state == "2":
        return fine(
            "random in every process",
            "keep it: it spreads processes by a percent or so, but without it one lucky or unlucky layout is measured "
            "over and over, and looks like a difference between programs (Mytkowicz et al., 2009)",
        )
    return disturbs(
        "fixed" if state == "0" else "random in part",
        "every process gets the same addresses: a lucky or unlucky layout is measured over and over, and looks "
        "like a difference between programs (Mytkowicz et al., 2009)",
        Cure(
            "sudo sysctl kernel.randomize_va_space=2", root=True, undo=f"sudo sysctl kernel.randomize_va_space={state}"
        ),
    )


@check("power", "power supply")
def power(readings: Readings) -> Finding | None:
    """A portable machine that runs from its battery."""
    supplies = readings.matching("/sys/class/power_supply/*/online")
    if not supplies:
        return None
    if any(text == "1" for text in supplies.values()):
        return fine("mains")
    return disturbs(
        "battery",
        "portable machines lower their clocks, and change them with the charge, when they run from the battery",
        Cure(advice="connect the power supply"),
    )


@check("numa", "memory nodes")
def nodes(readings: Readings) -> Finding | None:
    """Automatic moves of memory between the nodes of a large machine."""
    online, balancing = (
        readings.text("/sys/devices/system/node/online"),
        readings.text("/proc/sys/kernel/numa_balancing"),
    )
    if online in (None, "0", "") or balancing in (None, "0"):
        return None
    return note(
        f"nodes {online}, and the kernel moves pages between them",
        "pages are unmapped now and then to see who touches them, and moved: both happen inside samples",
        Cure("sudo sysctl kernel.numa_balancing=0", root=True, undo=f"sudo sysctl kernel.numa_balancing={balancing}"),
    )


@check("huge_pages", "transparent huge pages")
def huge_pages(readings: Readings) -> Finding | None:
    """Return whether the kernel collects pages into large ones in the background."""
    text = readings.text("/sys/kernel/mm/transparent_hugepage/enabled")
    if text is None:
        return None
    state = text.partition("[")[2].partition("]")[0]
    path = "/sys/kernel/mm/transparent_hugepage/enabled"
    if state != "always":
        return fine(state)
    return note(
        state,
        "memory is collected into large pages whenever the kernel finds time: samples get faster in steps",
        written("madvise", path, "always"),
    )


def _lines(readings: Readings, path: str) -> list[str]:
    return (readings.text(path) or "").splitlines()


def _pressure(readings: Readings, what: str) -> float | None:
    """Percent of the last 10 s in which at least one task waited; ``None`` where the kernel does not count."""
    for line in _lines(readings, f"/proc/pressure/{what}"):
        words = dict(word.split("=") for word in line.split() if "=" in word)
        if line.startswith("some"):
            return float(words.get("avg10", "0"))
    return None


def _times(text: str | None) -> list[int] | None:
    """Ticks of all processors by use: user, nice, system, idle, iowait, irq, softirq, steal."""
    words = (text or "").partition("\n")[0].split()
    if len(words) < 9 or words[0] != "cpu":
        return None
    # Time of guests is contained in user and nice.
    return [int(word) for word in words[1:9]]


def _throttled(readings: Readings, path: str) -> int | None:
    for line in _lines(readings, path):
        words = line.split()
        if len(words) == 2 and words[0] == "nr_throttled":
            return int(words[1])
    return None


def _quotas(readings: Readings) -> Iterator[tuple[str, tuple[float, str, str]]]:
    """Each limit: its file, allowed processors, the way to lift it, and its present value."""
    for path, text in readings.matching("/sys/fs/cgroup*/cpu.max").items():
        words = text.split()
        if len(words) == 2 and words[0].isdigit() and int(words[1]):
            yield path, (int(words[0]) / int(words[1]), "max", text)
    for path, text in readings.matching("/sys/fs/cgroup*/cpu.cfs_quota_us").items():
        period = readings.text(path.replace("quota", "period")) or ""
        if text.isdigit() and period.isdigit() and int(period):
            yield path, (int(text) / int(period), "-1", text)


CHECKS = (load, neighbours, quota, steal, memory, virtual, layout, power, nodes, huge_pages)
