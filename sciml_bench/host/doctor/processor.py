"""Findings about the processors: clocks, siblings, isolation, and the clock that times are read from."""

from __future__ import annotations

from collections.abc import Iterator

from sciml_bench.host.doctor.finding import Cure, Finding, check, disturbs, fine, note, unknown, written
from sciml_bench.host.doctor.readings import Readings

CPU = "/sys/devices/system/cpu"
CLOCK = "/sys/devices/system/clocksource/clocksource0"

# Reading these takes as long as a short solve; the others are read without leaving the process.
_SLOW_CLOCKS = {"hpet", "acpi_pm", "jiffies", "refined-jiffies", "pit"}

_HIDDEN = "the kernel shows no frequency control: a hypervisor or the firmware decides"


@check("governor", "frequency governor")
def governor(readings: Readings) -> Finding | None:
    """The policy by which the kernel chooses clock frequencies, and the driver behind it."""
    set_to = sorted(set(readings.matching(f"{CPU}/cpu*/cpufreq/scaling_governor").values()))
    drivers = sorted(set(readings.matching(f"{CPU}/cpu*/cpufreq/scaling_driver").values()))
    if not set_to:
        return unknown(_HIDDEN)
    found = f"{', '.join(set_to)} (driver {', '.join(drivers) or 'unknown'})"
    if set_to == ["performance"]:
        return fine(found)
    path = f"{CPU}/cpu*/cpufreq/scaling_governor"
    return disturbs(
        found,
        "the clock follows the load of the last milliseconds: short calls run at a lower clock than long ones, "
        "and the first calls after a pause at the lowest",
        written("performance", path, set_to[0]),
    )


@check("clocks", "clock frequency")
def clocks(readings: Readings) -> Finding | None:
    """Processors whose highest clock is cut below their capability, or that run below it now."""
    limits = readings.matching(f"{CPU}/cpu*/cpufreq/scaling_max_freq")
    able = readings.matching(f"{CPU}/cpu*/cpufreq/cpuinfo_max_freq")
    now = [int(text) for text in readings.matching(f"{CPU}/cpu*/cpufreq/scaling_cur_freq").values() if text.isdigit()]
    pairs = [
        (int(limit), int(able[path.replace("scaling_max", "cpuinfo_max")]))
        for path, limit in limits.items()
        if limit.isdigit() and able.get(path.replace("scaling_max", "cpuinfo_max"), "").isdigit()
    ]
    if not pairs:
        return unknown(_HIDDEN)
    seen = f"now {min(now) / 1000:.0f} to {max(now) / 1000:.0f} MHz, " if now else ""
    cut = [(limit, highest) for limit, highest in pairs if limit < highest]
    if not cut:
        return fine(f"{seen}up to {max(top for _, top in pairs) / 1000:.0f} MHz")
    return note(
        f"{seen}limited to {cut[0][0] / 1000:.0f} of {cut[0][1] / 1000:.0f} MHz",
        "a fixed lower limit is even good for repeatability, but the processor does not run at its fastest",
        written(str(cut[0][1]), f"{CPU}/cpu*/cpufreq/scaling_max_freq", str(cut[0][0])),
    )


@check("turbo", "turbo")
def turbo(readings: Readings) -> Finding | None:
    """Return whether clocks may rise above the guaranteed one."""
    for path, on, off in ((f"{CPU}/intel_pstate/no_turbo", "0", "1"), (f"{CPU}/cpufreq/boost", "1", "0")):
        state = readings.text(path)
        if state == off:
            return fine("off")
        if state == on:
            return disturbs(
                "on",
                "the clock then depends on temperature and on what the other cores do, so it drifts within a run",
                written(off, path, on),
            )
    return unknown(_HIDDEN)


@check("smt", "simultaneous multithreading")
def siblings(readings: Readings) -> Finding | None:
    """Return whether two processors share one core."""
    active, control = readings.text(f"{CPU}/smt/active"), readings.text(f"{CPU}/smt/control")
    if active is None:
        return unknown("the kernel does not report it")
    if active == "0":
        return fine(f"off ({control or 'no control'})")
    return note(
        "on: two processors share a core",
        "workers are pinned to one processor of a core, but whatever the system runs on the other halves their speed",
        written("off", f"{CPU}/smt/control", "on"),
    )


@check("isolation", "isolated processors")
def isolation(readings: Readings) -> Finding | None:
    """Return whether processors are kept free of everything else."""
    isolated, online = readings.text(f"{CPU}/isolated"), readings.text(f"{CPU}/online")
    if isolated is None:
        return unknown("the kernel does not report it")
    if not isolated:
        last = (online or "0-1").replace(",", "-").rpartition("-")[2]
        words = f"isolcpus={last} nohz_full={last} rcu_nocbs={last}"
        return note(
            "none",
            "the scheduler may put any other process, and the kernel its own work, next to a worker",
            Cure(
                f"sudo grubby --update-kernel=ALL --args='{words}'",
                root=True,
                undo=f"sudo grubby --update-kernel=ALL --remove-args='{words}'",
                advice=f"without grubby, add {words} to GRUB_CMDLINE_LINUX in /etc/default/grub and run "
                f"`sudo update-grub`; reboot, then start with: taskset -c {last} sciml-bench …",
            ),
        )
    chosen = _numbers(isolated)
    if readings.usable and not readings.usable & chosen:
        return disturbs(
            f"{isolated}, but this shell may not use them",
            "workers run only on the processors of their parent: the isolated processors stay idle",
            Cure(f"taskset -c {isolated} sciml-bench …"),
        )
    return fine(isolated)


@check("time_source", "clock source")
def time_source(readings: Readings) -> Finding | None:
    """The kernel's time source."""
    current = readings.text(f"{CLOCK}/current_clocksource")
    if current is None:
        return unknown("the kernel does not report it")
    if current not in _SLOW_CLOCKS:
        return fine(current)
    better = [name for name in (readings.text(f"{CLOCK}/available_clocksource") or "").split() if name == "tsc"]
    path = f"{CLOCK}/current_clocksource"
    return disturbs(
        current,
        "reading it takes about a microsecond and a system call, twice per sample",
        written("tsc", path, current)
        if better
        else Cure(advice="the kernel trusts no faster clock here; boot messages about `tsc` say why"),
    )


@check("thermal", "temperature")
def throttling(readings: Readings) -> Finding | None:
    """Heat: clocks cut by the processor, and zones near their limit."""
    counters = readings.matching(f"{CPU}/cpu*/thermal_throttle/*_throttle_count")
    zones = dict(_zones(readings))
    if not counters and not zones:
        return unknown("no thermal sensor and no throttle counter is exposed")
    grown = sum(readings.growth(path) or 0 for path in counters)
    total = max((int(text) for text in counters.values() if text.isdigit()), default=0)
    hottest = max(zones, key=lambda name: zones[name][0], default=None)
    heat = "" if hottest is None else f"{hottest} {zones[hottest][0]:.0f} °C"
    limit = None if hottest is None else zones[hottest][1]
    near = hottest is not None and limit is not None and zones[hottest][0] > limit - 10
    why = "a hot processor lowers its clock until it has cooled, in the middle of a run"
    if grown or near:
        found = ", ".join(part for part in (f"throttled {grown} times just now" if grown else "", heat) if part)
        cure = Cure(advice="let it cool, clear its vents, or lower its clock (see turbo) so that it never gets there")
        return disturbs(found, why, cure)
    if total:
        found = f"throttled {total} times since the start of the system, not now{f'; {heat}' if heat else ''}"
        return note(found, why)
    return fine(heat or "never throttled")


def _zones(readings: Readings) -> Iterator[tuple[str, tuple[float, float | None]]]:
    """Each thermal zone: its type, its temperature, and the one at which it is cooled by slowing down."""
    for path, text in readings.matching("/sys/class/thermal/thermal_zone*/temp").items():
        folder = path.rpartition("/")[0]
        if not text.lstrip("-").isdigit():
            continue
        trips = [
            int(readings.text(kind.replace("_type", "_temp")) or "0") / 1000
            for kind, what in readings.matching(f"{folder}/trip_point_*_type").items()
            if what == "passive" and (readings.text(kind.replace("_type", "_temp")) or "").isdigit()
        ]
        name = readings.text(f"{folder}/type") or folder.rpartition("/")[2]
        yield name, (int(text) / 1000, min(trips, default=None))


def _numbers(ranges: str) -> frozenset[int]:
    """The processors of a list such as ``0-2,5``."""
    found: set[int] = set()
    for part in ranges.split(","):
        first, _, last = part.partition("-")
        if first.isdigit():
            found |= set(range(int(first), int(last or first) + 1))
    return frozenset(found)


CHECKS = (governor, clocks, turbo, siblings, isolation, time_source, throttling)
