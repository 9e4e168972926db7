"""``DataLoader``: batches of a dataset, loaded in this process or by workers.

A pass draws a seed, then takes indices from the sampler, samples from the dataset and a
batch from ``collate_fn``. The seed is for workers; it is also drawn without workers, so
that later random numbers equal PyTorch's. Read ``_workers.py`` next, which is imported
at the first iteration with workers.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from itertools import islice, repeat
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

import pellucid
from pellucid import _C
from pellucid.utils.data._collate import default_collate, default_convert
from pellucid.utils.data.dataset import Dataset, IterableDataset, _fetch, _fetch_batch
from pellucid.utils.data.sampler import (
    BatchSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
)

if TYPE_CHECKING:
    from pellucid.utils.data._workers import WorkerInfo, WorkerPool

_T = TypeVar("_T")
_T_co = TypeVar("_T_co", covariant=True)


_collate_fn_t: TypeAlias = Callable[[list[_T]], Any]
_worker_init_fn_t: TypeAlias = Callable[[int], None]
# The type of ``iter(loader)``.
_BaseDataLoaderIter: TypeAlias = Iterator[Any]


class _MultiProcessingDataLoaderIter:
    """PyTorch's iterator class, for ``isinstance``; iterators are generators here."""


class _DatasetKind:
    """The two kinds of datasets, as ``DataLoader._dataset_kind``."""

    Map, Iterable = 0, 1


class _InfiniteConstantSampler(Sampler[None]):
    """The sampler of an IterableDataset, which has no indices."""

    def __iter__(self) -> Iterator[None]:
        return repeat(None)


class DataLoader(Generic[_T_co]):
    """Iterates over ``dataset`` in batches.

    ``shuffle`` draws a new order for each pass, from ``generator`` if given. A
    ``sampler`` gives the order instead, a ``batch_sampler`` whole lists of indices;
    ``batch_size=None`` gives single samples.

    ``num_workers`` processes load batches, each ``prefetch_factor`` ahead (2); they are
    started for each pass, or once with ``persistent_workers``, and call
    ``worker_init_fn(id)`` first. Worker k is seeded with the pass's seed plus k, once
    if workers are persistent. A ``timeout`` in seconds limits the wait for a batch.
    """

    _frozen = frozenset(
        ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset")
    )
    _initialized = False

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Iterable[Any] | None = None,
        batch_sampler: Iterable[Any] | None = None,
        num_workers: int = 0,
        collate_fn: _collate_fn_t[Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: _worker_init_fn_t | None = None,
        multiprocessing_context: Any = None,
        generator: Any = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:
        _check_workers(
            num_workers,
            timeout,
            prefetch_factor,
            persistent_workers,
            multiprocessing_context,
        )
        iterable = isinstance(dataset, IterableDataset)
        if iterable and _is_pipe(dataset):
            from pellucid.utils.data.graph_settings import apply_shuffle_settings

            dataset, shuffle = apply_shuffle_settings(dataset, shuffle), None
        if iterable:
            _refuse_order(shuffle, sampler, batch_sampler)
        if sampler is not None and shuffle:
            raise ValueError("sampler and shuffle=True exclude each other")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError(
                    "batch_sampler excludes batch_size, shuffle, sampler and drop_last"
                )
            batch_size = None
        elif batch_size is None and drop_last:
            raise ValueError("batch_size=None makes no batches for drop_last to drop")
        if sampler is None:
            sampler = _default_sampler(dataset, shuffle, generator)
        if batch_size is not None and batch_sampler is None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        batched = batch_sampler is not None
        self.dataset: Dataset[_T_co] = dataset
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.sampler = sampler
        self.batch_sampler = batch_sampler
        self.collate_fn = collate_fn or (
            default_collate if batched else default_convert
        )
        self.num_workers = num_workers
        self.pin_memory = pin_memory
        self.pin_memory_device = pin_memory_device
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self._context = multiprocessing_context
        self.generator = generator
        if num_workers and prefetch_factor is None:
            prefetch_factor = 2
        self.prefetch_factor = prefetch_factor
        self.persistent_workers = persistent_workers
        self.in_order = in_order
        self._pool: WorkerPool | None = None
        self._initialized = True

    def __setattr__(self, name: str, value: Any) -> None:
        if self._initialized and name in self._frozen:
            raise ValueError(
                f"{name} cannot be changed after the DataLoader was made; make another"
            )
        super().__setattr__(name, value)

    @property
    def multiprocessing_context(self) -> Any:
        """The multiprocessing context of workers: a context, its name, or None."""
        return self._context

    @multiprocessing_context.setter
    def multiprocessing_context(self, given: Any) -> None:
        if given is not None and self.num_workers == 0:
            raise ValueError(
                "multiprocessing_context needs num_workers > 0, and it is 0"
            )
        self._context = given

    @property
    def _dataset_kind(self) -> int:
        iterable = isinstance(self.dataset, IterableDataset)
        return _DatasetKind.Iterable if iterable else _DatasetKind.Map

    @property
    def _auto_collation(self) -> bool:
        return self.batch_sampler is not None

    @property
    def _index_sampler(self) -> Any:
        return self.sampler if self.batch_sampler is None else self.batch_sampler

    def __iter__(self) -> Iterator[Any]:
        if not self.pin_memory:
            return self._pass()
        if pellucid._C._find_cuda()[0]:
            from pellucid.utils.data._pinning import pin_memory

            return map(pin_memory, self._pass())
        warnings.warn(
            "pin_memory is ignored: there is no accelerator to pin memory for",
            stacklevel=2,
        )
        return self._pass()

    def _pass(self) -> Iterator[Any]:
        is_pipe = isinstance(self.dataset, IterableDataset) and _is_pipe(self.dataset)
        shared = self._draw_seed() if is_pipe else None
        indices = iter(self._index_sampler)
        resumes = self._resumes()
        seed = None if resumes else self._draw_seed()
        if self.num_workers:
            if is_pipe and not resumes:
                self._draw_seed()  # PyTorch draws one more, for a pass that resumes
            batches = self._from_workers(indices, (seed, shared))
            return _timed(batches, "MultiProcessing")
        if _is_pipe(self.dataset):
            from pellucid.utils.data.graph_settings import start_pass

            start_pass(self.dataset, shared)
        if isinstance(self.dataset, IterableDataset):
            return _timed(self._stream(iter(self.dataset)), "SingleProcess")
        return _timed(self._batches(indices), "SingleProcess")

    def _resumes(self) -> bool:
        """Whether a pass reuses the previous pass's workers."""
        pool = self._pool
        return pool is not None and not pool.running and bool(pool.processes)

    def _draw_seed(self) -> int:
        seed = pellucid.empty((), dtype=pellucid.int64)
        return int(seed.random_(generator=self.generator))

    def _from_workers(
        self, indices: Iterator[Any], seeds: tuple[int | None, int | None]
    ) -> Iterator[Any]:
        pool = self._pool if self._resumes() else None
        if pool is None:
            pool = self._start_workers()
        if self.persistent_workers:
            self._pool = pool
            return pool.run(indices, seeds, self.in_order)
        return _closing(pool, pool.run(indices, seeds, self.in_order))

    def _start_workers(self) -> WorkerPool:
        from pellucid.utils.data._workers import Job, WorkerPool

        job = Job(
            self.dataset,
            self.collate_fn,
            self.batch_sampler is not None,
            self.drop_last,
            self.num_workers,
            self.worker_init_fn,
        )
        assert self.prefetch_factor is not None
        return WorkerPool(
            job, self.multiprocessing_context, self.prefetch_factor, self.timeout
        )

    def _batches(self, indices: Iterator[Any]) -> Iterator[Any]:
        dataset: Any = self.dataset
        collate_fn = self.collate_fn
        if self.batch_sampler is None:
            for index in indices:
                yield collate_fn(dataset[index])
        elif collate_fn is default_collate:
            for chosen in indices:
                batch = _fetch_batch(dataset, chosen)
                yield collate_fn(_fetch(dataset, chosen)) if batch is None else batch
        else:
            for chosen in indices:
                yield collate_fn(_fetch(dataset, chosen))

    def _stream(self, samples: Iterator[Any]) -> Iterator[Any]:
        if self.batch_sampler is None:
            for sample in samples:
                yield self.collate_fn(sample)
            return
        for indices in self.batch_sampler:
            batch = list(islice(samples, len(indices)))
            if not batch or (self.drop_last and len(batch) < len(indices)):
                return
            yield self.collate_fn(batch)

    def __len__(self) -> int:
        if not isinstance(self.dataset, IterableDataset):
            return len(self._index_sampler)
        length = len(self.dataset)  # type: ignore[arg-type]
        if self.batch_size is None:
            return length
        whole, rest = divmod(length, self.batch_size)
        return whole + (rest > 0 and not self.drop_last)


def _default_sampler(dataset: Any, shuffle: bool | None, generator: Any) -> Any:
    if isinstance(dataset, IterableDataset):
        return _InfiniteConstantSampler()
    if shuffle:
        return RandomSampler(dataset, generator=generator)
    return SequentialSampler(dataset)


def _timed(batches: Iterator[Any], kind: str) -> Iterator[Any]:
    """``batches``, each with a range in the timeline, named as PyTorch names it."""
    name = f"enumerate(DataLoader)#_{kind}DataLoaderIter.__next__"
    while True:
        token = _C._timeline_begin(name)
        try:
            batch = next(batches)
        except StopIteration:
            return
        finally:
            _C._timeline_end(token)
        yield batch


def _closing(pool: WorkerPool, batches: Iterator[Any]) -> Iterator[Any]:
    """``batches``, after which the workers stop."""
    try:
        yield from batches
    finally:
        pool.close()


def _check_workers(
    num_workers: int,
    timeout: float,
    prefetch_factor: int | None,
    persistent_workers: bool,
    multiprocessing_context: Any,
) -> None:
    if num_workers < 0:
        raise ValueError(f"num_workers must not be negative: {num_workers}")
    if timeout < 0:
        raise ValueError(f"timeout must not be negative: {timeout}")
    if prefetch_factor is not None and prefetch_factor < 0:
        raise ValueError(f"prefetch_factor must not be negative: {prefetch_factor}")
    needing = {
        "prefetch_factor": prefetch_factor is not None,
        "persistent_workers": persistent_workers,
        "multiprocessing_context": multiprocessing_context is not None,
    }
    for name, given in needing.items():
        if given and num_workers == 0:
            raise ValueError(f"{name} needs num_workers > 0, and it is 0")


def _is_pipe(dataset: Any) -> bool:
    """Whether it is a pipe; False if their module has not been imported."""
    pipes = sys.modules.get("pellucid.utils.data.datapipes.datapipe")
    return pipes is not None and isinstance(
        dataset, (pipes.IterDataPipe, pipes.MapDataPipe)
    )


def _refuse_order(shuffle: object, sampler: object, batch_sampler: object) -> None:
    given = {"shuffle": shuffle, "sampler": sampler, "batch_sampler": batch_sampler}
    for name, value in given.items():
        if value not in (None, False):
            raise ValueError(
                f"an IterableDataset decides its order itself; leave {name} out"
            )


def get_worker_info() -> WorkerInfo | None:
    """This worker's ``id``, ``num_workers``, ``seed`` and copy of the ``dataset``.

    None in the main process.
    """
    workers = sys.modules.get("pellucid.utils.data._workers")
    return None if workers is None else workers.get_worker_info()
