"""Dask, by its client: a task for each unit on a worker, which has the resource ``bench`` for one at a time."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from sciml_bench.errors import EngineError
from sciml_bench.execution.cluster.scheduler import Phase, Scheduler, State
from sciml_bench.execution.cluster.task import NODE, Order, command_of
from sciml_bench.execution.cluster.task_folder import node_name
from sciml_bench.host.extras import install_command
from sciml_bench.record.text import printable

RESOURCE = "bench"

_CONNECT_S = 20.0
START = f"dask worker ADDRESS --nthreads 1 --nworkers 1 --resources {RESOURCE}=1"


class Dask(Scheduler):
    """Submits tasks to the scheduler at an address; without one, to a worker on this machine that ends with it.

    A scheduler forgets the waiting tasks of a client that leaves; running ones continue.
    """

    name = "dask"
    room = 1000

    def __init__(self, address: str | None):
        self._address = address
        self.keeps_tasks = address is not None
        # Dask's client is typed as one that may be asynchronous: every answer would be a coroutine, too.
        self._connected: Any = None
        self._futures: dict[str, Any] = {}
        self._fit: dict[str, set[str]] = {}
        self._count = 0

    def check(self) -> None:
        self._workers()

    def submit(self, orders: Sequence[Order], without: Sequence[str] = (), active: Sequence[str] = ()) -> list[str]:
        nodes = self._workers()
        fit = {worker for worker, node in nodes.items() if node not in without}
        if not fit:
            raise EngineError(f"no other worker has the resource {RESOURCE}.")
        names: list[str] = []
        for order in orders:
            self._count += 1
            # Another client may have submitted the same unit.
            name = f"sciml-bench-{order.unit}-{self._client().id}-{self._count}"
            self._futures[name] = self._client().submit(
                _carry_out,
                order,
                key=name,
                pure=False,
                retries=0,
                resources={RESOURCE: 1},
                # A worker that comes later would not be among them.
                **({"workers": sorted(fit), "allow_other_workers": False} if without else {}),
            )
            self._fit[name] = fit if without else set()
            names.append(name)
        return names

    def states(self) -> Mapping[str, State]:
        workers = self._workers()
        try:
            processing: Mapping[str, Sequence[Any]] = self._client().processing()
        except (OSError, TimeoutError) as error:
            raise EngineError(f"Dask's scheduler does not answer: {error}.") from error
        worker_of = {str(key): worker for worker, keys in processing.items() for key in keys}
        found: dict[str, State] = {}
        for name, future in self._futures.items():
            word = str(future.status)
            if self._fit[name] and self._fit[name].isdisjoint(workers):
                # Nobody else may have it.
                future.cancel()
                word = "lost with its worker"
            phase = Phase.ENDED if word != "pending" else Phase.RUNNING if name in worker_of else Phase.WAITING
            found[name] = State(phase, word, printable(worker_of.get(name, "")))
        return found

    def cancel(self, tasks: Sequence[str]) -> None:
        futures = [self._futures[name] for name in tasks if name in self._futures]
        if futures:
            try:
                self._client().cancel(futures)
            except (OSError, TimeoutError, RuntimeError) as error:
                raise EngineError(f"Dask's scheduler does not answer: {error}.") from error

    def close(self) -> None:
        if self._connected is not None:
            client, self._connected = self._connected, None
            cluster = client.cluster
            client.close()
            if self._address is None and cluster is not None:
                cluster.close()

    def _client(self) -> Any:
        # A client closes for good when its scheduler is away for long.
        if self._connected is None or self._connected.status == "closed":
            self._connected = connected(self._address)
        return self._connected

    def _workers(self) -> Mapping[str, str]:
        """The addresses of workers with the resource, and their nodes. :class:`EngineError` if there are none."""
        workers = workers_of(self._client(), RESOURCE)
        if not workers:
            raise EngineError(f"there are no workers with the resource {RESOURCE}. Start one on each machine: {START}")
        return {address: node_name(str(worker.get("host", ""))) for address, worker in workers.items()}


def workers_of(client: Any, resource: str | None = None) -> Mapping[str, Mapping[str, Any]]:
    """The workers of a scheduler by their addresses; if a resource is named, the ones that have it.

    :class:`EngineError` if the scheduler does not answer.
    """
    try:
        workers: Mapping[str, Mapping[str, Any]] | None = client.scheduler_info(n_workers=-1).get("workers")
    except (OSError, TimeoutError) as error:
        raise EngineError(f"Dask's scheduler does not answer: {error}.") from error
    if workers is None:
        raise EngineError("Dask's scheduler does not answer.")
    return {
        address: worker
        for address, worker in workers.items()
        if resource is None or worker.get("resources", {}).get(resource)
    }


def connected(address: str | None) -> Any:
    """A client of the scheduler at an address; without one, of a worker in this process.

    :class:`EngineError` if it does not answer, or Dask is not installed.
    """
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        raise EngineError(f"Dask is not installed: {install_command('dask')}") from None
    try:
        if address is not None:
            return Client(address, timeout=_CONNECT_S)
        # In this process: a worker in another one prints a traceback when the terminal interrupts it.
        options: dict[str, Any] = {"resources": {RESOURCE: 1}, "dashboard_address": None}
        return Client(LocalCluster(n_workers=1, threads_per_worker=1, processes=False, **options))
    except (OSError, ValueError, TimeoutError) as error:
        raise EngineError(f"Dask's scheduler at {address} does not answer: {error}.") from error


def _carry_out(order: Order) -> None:
    """Carry out a task in a process, which ends by a signal; a worker's thread would not."""
    from distributed import get_worker

    # Not interrupted with the terminal that this command may share with the worker.
    subprocess.run(
        [sys.executable, *command_of(order)],
        check=False,
        stdin=subprocess.DEVNULL,
        start_new_session=True,
        env={**os.environ, NODE: get_worker().address.rpartition("/")[2].rpartition(":")[0]},
    )
