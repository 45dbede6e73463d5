"""`Workers`: the workers of a dask cluster as one place that holds the samples, block by block.

Every worker has an actor, a `Store`. This process sends a function of rows to all of them and receives its results, for
example sums over the samples, in the order of the blocks: they do not depend on which worker has which block. What a
function writes into arrays of rows stays on the worker.

A worker that is lost takes its blocks with it. They are restored on another one: X is computed again by dask, the other
arrays are those of the last checkpoint, a copy on a second worker, and the steps since then are run again on the blocks
that were lost, with the same result, as they depend on nothing else.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import count
from threading import Lock
from time import monotonic, sleep
from typing import Any
from weakref import finalize

import numpy as np

from ..place import Place
from .array import BlockValues, DistributedArray, RemoteBlocks
from .store import (
    Failure,
    Step,
    Store,
    export_block,
    export_copy,
    export_part,
    forget_copy,
    keep_copy,
    keep_part,
    restore_block,
)
from .sums import partial_sums

STEPS = 100  # from one checkpoint to the next, which is after some fifteen sweeps
MAX_LOG = 1 << 26  # bytes of steps that are kept for lost blocks
COPIED = 16  # blocks that are copied to other workers at once: while they travel they take memory twice
REPLACEMENT = 30.0  # seconds to wait for one that takes the place of a lost worker, before others take its blocks
PATIENCE = 60.0  # seconds to wait for a worker where there is none
WATCH = 0.5  # seconds after which a worker that does not answer is checked


class LostWorkerError(RuntimeError):
    """Workers were lost together with what is needed to restore their blocks."""


class _LostError(Exception):
    """The workers at some addresses are gone."""


class Workers(Place):
    """Blocks of rows of the samples on workers.

    Parameters
    ----------
    client : distributed.Client
        Connected to the workers.
    edges : sequence of int
        Where blocks begin, and the number of rows.
    preferred : sequence of (str or None)
        The worker that has a block already.
    """

    def __init__(self, client: Any, edges: Sequence[int], preferred: Sequence[str | None]):
        self.client, self.edges, self.session = client, [int(edge) for edge in edges], uuid.uuid4().hex
        self.n_rows, self.n_blocks = self.edges[-1], len(self.edges) - 1
        self._numbers, self._names, self._lock = count(), count(), Lock()
        self._freed: list[str] = []
        self._sources: dict[str, tuple[list, np.dtype]] = {}  # lazy blocks of X
        self._stores: dict[str, Any] = {}
        self._log: list[_Sent] = []
        self._checkpoint: dict[int, Any] = {}  # of each block: the worker that has a copy, or the copy itself
        self._n_checkpoints, self._is_exposed = 0, False
        self._places = self._placed(preferred)
        self._until_done(lambda: self._open({address for address in self._places if address not in self._stores}))
        finalize(self, _close, self._stores)

    def __reduce__(self):
        return type(None), ()  # in a function that runs on a worker

    @property
    def slices(self) -> list[slice]:
        """The rows of each block."""
        return [slice(a, b) for a, b in zip(self.edges[:-1], self.edges[1:], strict=True)]

    # ---- arrays --------------------------------------------------------------------------------------------------

    def new_name(self) -> str:
        """Return the name of a new array."""
        return f"a{next(self._names)}"

    def free(self, name: str) -> None:
        """Forget an array, with the next step."""
        with self._lock:
            self._freed.append(name)
            self._sources.pop(name, None)

    def blocks(self, size: int | None) -> RemoteBlocks:
        """Return the rows in slices of about this size; None is one slice a block."""
        return RemoteBlocks(self, size)

    def empty(self, width: tuple[int, ...], dtype) -> DistributedArray:
        """Return an array of any values, with rows of this shape."""
        return DistributedArray(self, (self.n_rows, *width), dtype)

    def load(self, blocks: list, width: tuple[int, ...], dtype: Any) -> DistributedArray:
        """Compute the blocks of X, lazy ones or futures, each on the worker that is to hold it."""
        array = self.empty(width, dtype)
        self._sources[array.name] = blocks, array.dtype
        self._until_done(lambda: self._load(array.name, range(self.n_blocks)))
        return array

    def put(self, rows: np.ndarray | Callable[[slice], np.ndarray], width: tuple[int, ...], dtype) -> Any:
        """Send an array, or a function that gives its rows block by block, to the workers."""
        array: Any = self.empty(width, dtype)

        def write(b: slice, part: np.ndarray) -> None:
            array[b] = part

        get = rows.__getitem__ if isinstance(rows, np.ndarray) else rows
        self.run(write, None, arguments=[np.asarray(get(b), dtype) for b in self.slices])
        return array

    def put_each(self, values: list) -> BlockValues:
        """Send one object to each block."""
        there: Any = BlockValues(self)

        def write(b: slice, value: Any) -> None:
            there[b] = value

        self.run(write, None, arguments=values)
        return there

    def to_dask(self, array: DistributedArray) -> Any:
        """Return an array as dask's, which holds its blocks from now on."""
        import dask.array as da

        futures: list = []

        def exported() -> None:
            self._run_on_all()  # so that a block that was lost is there
            futures[:] = [
                self._submit(place, export_part, self.session, array.name, i) for i, place in enumerate(self._places)
            ]
            self._wait(futures, set(self._places))

        self._until_done(exported)
        shapes = [(b.stop - b.start, *array.shape[1:]) for b in self.slices]
        pieces = [da.from_delayed(f, s, array.dtype) for f, s in zip(futures, shapes, strict=True)]
        return da.concatenate(pieces, axis=0)

    # ---- steps ---------------------------------------------------------------------------------------------------

    def run(self, work: Callable, size: int | None, arguments: list | None = None) -> list[list]:
        """Run a function of rows on all blocks, in slices of this size, and return the results of each block."""
        found = self._run(Step(work, size), arguments)
        return [found[i] for i in range(self.n_blocks)]

    def total(self, work: Callable, size: int | None) -> Any:
        """Return the sum of the results of a function of rows, in an order that depends on the blocks alone."""
        return partial_sums(self.n_blocks, self._run(Step(work, size, summed=True)))[0, self.n_blocks]

    def _run(self, step: Step, arguments: list | None = None) -> dict[Any, Any]:
        if self._is_exposed or len(self._log) >= STEPS or sum(sent.n_bytes for sent in self._log) > MAX_LOG:
            self._keep_checkpoint()
        with self._lock:
            freed, self._freed = tuple(self._freed), []
        sent = _Sent(next(self._numbers), _pickled(step), arguments, freed)
        found: dict[Any, Any] = {}
        done: set[int] = set()
        self._until_done(lambda: self._send(sent, [i for i in range(self.n_blocks) if i not in done], found, done))
        self._log.append(sent)
        return found

    def _run_on_all(self) -> None:
        """Run nothing: an error where a worker is gone."""
        self._send(_Sent(next(self._numbers), _pickled(Step(_nothing, None)), None, ()), range(self.n_blocks))

    def _send(
        self, sent: _Sent, blocks: Iterable[int], found: dict | None = None, done: set[int] | None = None
    ) -> None:
        """Run a step on some blocks, and keep their results; a worker that is lost is an error after all others."""
        calls, lost = {}, []
        for address, inside in self._by_worker(blocks).items():
            own = None if sent.arguments is None else [sent.arguments[i] for i in inside]
            try:
                run = self._stores[address].run(sent.number, inside, sent.payload, own, sent.freed)
                calls[address] = run, inside
            except (OSError, RuntimeError, KeyError):  # the actor, or its worker, is gone
                lost.append(address)
        for address, (call, inside) in calls.items():
            try:
                results = self._result(call, address)
            except _LostError:
                lost.append(address)
                continue
            if isinstance(results, Failure):
                raise results.error
            if found is not None and done is not None:
                found.update(results)
                done.update(inside)
        if lost:
            raise _LostError(lost)

    def _result(self, call: Any, address: str) -> Any:
        while True:
            try:
                return call.result(timeout=WATCH)
            except TimeoutError:
                if not self._is_there(address):
                    raise _LostError([address]) from None
            except (OSError, ValueError):  # the worker does not answer, or has no such actor: it is a new one
                raise _LostError([address]) from None

    def _by_worker(self, blocks: Iterable[int]) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for i in blocks:
            found.setdefault(self._places[i], []).append(i)
        return found

    # ---- workers -------------------------------------------------------------------------------------------------

    def _is_there(self, address: str) -> bool:
        return address in self.client.nthreads()

    def _placed(self, preferred: Sequence[str | None]) -> list[str]:
        """Return a worker for each block: that which has it, or neighbours on one worker."""
        addresses, n = self._wait_for_workers(set()), len(preferred)
        return [
            known if known in addresses else addresses[i * len(addresses) // n] for i, known in enumerate(preferred)
        ]

    def _wait_for_workers(self, without: set[str], number: int = 1) -> list[str]:
        """Return the addresses of the workers, once there are so many or a replacement does not come."""
        begin = monotonic()
        while True:
            found = [address for address in sorted(self.client.nthreads()) if address not in without]
            waited = monotonic() - begin
            if len(found) >= number or (found and waited > REPLACEMENT):
                return found
            if waited > PATIENCE:
                raise LostWorkerError(f"no worker of the dask cluster is there after {PATIENCE:.0f} s: start one.")
            sleep(WATCH)

    def _submit(self, address: str, function: Callable, *arguments: Any, **keywords: Any) -> Any:
        """Run a task on one worker and no other."""
        at = {"workers": [address], "allow_other_workers": False, "pure": False}
        return self.client.submit(function, *arguments, **at, **keywords)

    def _open(self, addresses: set[str]) -> None:
        n_threads = self.client.nthreads()
        actors = {
            address: self._submit(address, Store, self.session, self.edges, n_threads.get(address, 1), actor=True)
            for address in sorted(addresses)
        }
        self._wait(list(actors.values()), addresses)
        self._stores.update({address: actor.result() for address, actor in actors.items()})

    def _load(self, name: str, blocks: Iterable[int]) -> None:
        """Compute blocks of a source where they are to be."""
        parts, dtype = self._sources[name]
        futures = [
            self._submit(self._places[i], keep_part, self.session, self.edges, name, i, parts[i], dtype) for i in blocks
        ]
        self._wait(futures, {self._places[i] for i in blocks})

    def _wait(self, futures: list, addresses: set[str]) -> None:
        """Wait for futures on some workers."""
        from distributed import wait

        begin = monotonic()
        while True:
            try:
                wait(futures, timeout=WATCH)
            except TimeoutError:
                gone = [address for address in addresses if not self._is_there(address)]
                if gone:
                    raise _LostError(gone) from None
                if monotonic() > begin + PATIENCE:
                    self._refuse_paused(addresses)
                continue
            for future in futures:
                if future.status == "error":
                    raise future.exception()
            return

    def _refuse_paused(self, addresses: set[str]) -> None:
        """Raise an error where dask lets a worker wait for memory, which no task of ours will free."""
        workers = self.client.scheduler_info(n_workers=-1)["workers"]
        paused = [a for a in addresses if workers.get(a, {}).get("status") == "paused"]
        if paused:
            raise MemoryError(
                f"dask has paused the worker {paused[0]}, whose memory is short: give workers more memory, use more of "
                "them, smaller blocks, X.rechunk({0: rows}), or fewer components."
            )

    # ---- checkpoints and lost workers ----------------------------------------------------------------------------

    def _until_done(self, work: Callable[[], None]) -> None:
        """Call until no worker is lost meanwhile; the blocks of a lost one are restored first."""
        lost: set[str] = set()
        while True:
            try:
                if lost:
                    self._restore(lost)
                    lost = set()
                work()
                return
            except _LostError as gone:
                lost |= set(gone.args[0])

    def _restore(self, lost: set[str]) -> None:
        """Restore the blocks of lost workers on others."""
        addresses = self._wait_for_workers(lost, len(set(self._places)))
        blocks = [i for i, address in enumerate(self._places) if address not in addresses]
        for i in blocks:
            held = Counter(self._places)
            self._places[i] = min(addresses, key=lambda address: held[address])
        for address in [address for address in self._stores if address not in addresses]:
            del self._stores[address]
        self._open({self._places[i] for i in blocks} - set(self._stores))
        for name in list(self._sources):
            self._load(name, blocks)
        seen = self._restore_checkpoint(blocks, lost) if self._n_checkpoints else dict.fromkeys(blocks, -1)
        for sent in self._log:
            self._send(sent, [i for i in blocks if seen[i] < sent.number])
        # Copies that a lost worker had are gone: with the next step every block gets one again.
        self._is_exposed = True

    def _restore_checkpoint(self, blocks: list[int], lost: set[str]) -> dict[int, int]:
        """Restore blocks from their copies, and return the number of the last step that each has seen."""
        futures = []
        for i in blocks:
            copy = self._checkpoint[i]
            if isinstance(copy, str):
                if copy in lost or not self._is_there(copy):
                    raise LostWorkerError(
                        "workers were lost with rows of the samples and their copies on other workers. Fit again; in "
                        "a block of laminar.checkpoint a fit goes on where it was."
                    )
                copy = self._submit(copy, export_copy, self.session, i)
            futures.append(self._submit(self._places[i], restore_block, self.session, self.edges, i, copy))
        self._wait(futures, {self._places[i] for i in blocks})
        return dict(zip(blocks, self.client.gather(futures), strict=True))

    def _keep_checkpoint(self) -> None:
        """Copy every block to another worker, or to this process if there is none, and forget the steps before.

        A worker may be lost meanwhile: each copy has the number of the last step before it, and the log is kept until
        all are made.
        """
        self._until_done(self._copy_blocks)
        self._log, self._is_exposed = [], False
        self._n_checkpoints += 1

    def _copy_blocks(self) -> None:
        addresses, sources = sorted(set(self._places)), tuple(self._sources)
        number = self._log[-1].number if self._log else -1
        after = dict(zip(addresses, addresses[1:] + addresses[:1], strict=True))
        for start in range(0, self.n_blocks, COPIED):
            blocks = range(start, min(start + COPIED, self.n_blocks))
            places = {self._places[i] for i in blocks}
            made = [self._submit(self._places[i], export_block, self.session, i, sources, number) for i in blocks]
            self._wait(made, places)
            if len(addresses) == 1:
                self._checkpoint.update(zip(blocks, self.client.gather(made), strict=True))
                continue
            new = {i: after[self._places[i]] for i in blocks}
            kept = [
                self._submit(new[i], keep_copy, self.session, self.edges, i, part)
                for i, part in zip(blocks, made, strict=True)
            ]
            self._wait(kept, set(new.values()))
            old = {i: self._checkpoint.get(i) for i in blocks}
            self._checkpoint.update(new)
            for i, place in old.items():  # where neighbours have changed, after a loss
                if isinstance(place, str) and place != new[i] and self._is_there(place):
                    self._wait([self._submit(place, forget_copy, self.session, i)], {place})


class _Sent:
    """A step as it was sent, which is sent again to the workers that take the place of lost ones."""

    def __init__(self, number: int, payload: bytes, arguments: list | None, freed: tuple[str, ...]):
        self.number, self.payload, self.arguments, self.freed = number, payload, arguments, freed
        self.n_bytes = len(payload) + sum(getattr(part, "nbytes", 0) for part in arguments or ())


def _pickled(step: Step) -> bytes:
    from cloudpickle import dumps  # of the extra that has dask

    return dumps(step)


def _nothing(b: slice) -> None:
    return None


def _close(stores: dict[str, Any]) -> None:
    for store in stores.values():
        try:
            store.close()
        except Exception:  # the worker, or the client, is gone, and the blocks with it
            continue
