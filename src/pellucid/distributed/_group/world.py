"""The process groups of this process, and the registry of backends."""

from __future__ import annotations

import atexit
import hashlib
import os
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, ClassVar

import pellucid as torch
from pellucid.distributed._group.native import NativeGroup
from pellucid.distributed._group.process_group import ProcessGroup
from pellucid.distributed._stores.prefix_store import PrefixStore
from pellucid.distributed._stores.store import Store
from pellucid.distributed._stores.watched_store import WatchedStore
from pellucid.distributed.constants import default_pg_timeout
from pellucid.distributed.rendezvous import check_rank, rendezvous

Creator = Callable[..., Any]


@dataclass
class _DistributedBackendOptions:
    """The options passed to a backend registered with ``extended_api=True``."""

    store: Store
    group_rank: int
    group_size: int
    timeout: timedelta
    group_id: str = ""
    global_ranks_in_group: Sequence[int] = ()


class Backend(str):
    """A backend's name, in lower case: ``Backend("GLOO") == "gloo"``."""

    UNDEFINED = "undefined"
    GLOO = "gloo"
    NCCL = "nccl"
    UCC = "ucc"
    MPI = "mpi"
    XCCL = "xccl"
    backend_list: ClassVar[list[str]] = ["undefined", "gloo", "nccl", "mpi"]
    default_device_backend_map: ClassVar[dict[str, str]] = {
        "cpu": "gloo",
        "cuda": "nccl",
    }
    _plugins: ClassVar[dict[str, tuple[Creator, bool]]] = {}

    def __new__(cls, name: str) -> Backend:
        if not isinstance(name, str):
            raise ValueError(f"Backend constructor parameter must be a string: {name}")
        return super().__new__(cls, name.lower())

    @classmethod
    def register_backend(
        cls,
        name: str,
        func: Creator,
        extended_api: bool = False,
        devices: str | list[str] | None = None,
    ) -> None:
        """Makes ``init_process_group(name)`` use the ProcessGroup that ``func(store,
        rank, size, timeout)`` returns; with ``extended_api``, ``func(options,
        pg_options)``. A later registration of the name replaces the former. It is the
        default of devices that have none. The names of Pellucid's backends are taken.
        """
        name = name.lower()
        if name in cls.backend_list and name not in cls._plugins:
            raise RuntimeError(
                f"{name!r} is a backend of Pellucid: choose another name"
            )
        if name not in cls._plugins:
            cls.backend_list.append(name)
            setattr(cls, name.upper(), name)
        cls._plugins[name] = func, extended_api
        for device in [devices] if isinstance(devices, str) else devices or []:
            cls.default_device_backend_map.setdefault(device, name)


class BackendConfig:
    """A backend for each type of device, from "gloo" or "cpu:gloo,cuda:nccl"."""

    def __init__(self, backend: str) -> None:
        if ":" in backend:
            pairs = [part.partition(":") for part in backend.lower().split(",")]
            self.device_backend_map = {
                device.strip(): name.strip() for device, _, name in pairs
            }
        else:
            defaults = Backend.default_device_backend_map
            name = backend.lower()
            self.device_backend_map = (
                dict(defaults) if name == "undefined" else dict.fromkeys(defaults, name)
            )

    def __repr__(self) -> str:
        return ",".join(f"{d}:{b}" for d, b in self.device_backend_map.items())

    def get_device_backend_map(self) -> dict[str, str]:
        """Device types to names of backends."""
        return self.device_backend_map


NON_GROUP_MEMBER: Any = -100


class _World:
    """The groups of this process."""

    def __init__(self) -> None:
        self.default: Any = None
        self.groups: dict[Any, str] = {}  # to their backends
        self.store: Store | None = None
        self.num_groups = 0
        self.num_inits = 0
        self.local_groups: dict[tuple[int, ...], int] = {}
        #: Called with the name of each collective, as ``CommDebugMode`` does.
        self.observers: list[Callable[[str], None]] = []

    @property
    def default_pg(self) -> Any:
        """The default group."""
        return self.default

    @property
    def pg_map(self) -> dict[Any, tuple[str, Store | None]]:
        """The groups, with their backends and stores."""
        return {g: (kind, g._store) for g, kind in self.groups.items()}

    @property
    def pg_names(self) -> dict[Any, str]:
        """The groups, with their names."""
        return {each: each.group_name for each in self.groups}

    @property
    def pg_group_ranks(self) -> dict[Any, dict[int, int]]:
        """The groups, with their members: from global ranks to those of the group."""
        return {
            each: {rank: k for k, rank in enumerate(each._global_ranks)}
            for each in self.groups
        }

    @property
    def pg_backend_config(self) -> dict[Any, str]:
        """The groups, with their backends by device type."""
        return {g: repr(BackendConfig(kind)) for g, kind in self.groups.items()}

    @property
    def group_count(self) -> int:
        """How many groups were made."""
        return self.num_groups


world = _World()


def no_group(name: str = "") -> ValueError:
    """The error of functions that need a default group."""
    del name
    return ValueError(
        "Default process group has not been initialized, please make sure to call "
        "init_process_group."
    )


def group_of(group: Any) -> Any:
    """The group, or the default one for None."""
    if group is not None:
        return group
    if world.default is None:
        raise no_group()
    return world.default


def group_named(name: str) -> Any:
    """The group with a ``group_name``."""
    for each in world.groups:
        if each.group_name == name:
            return each
    raise RuntimeError(f"Could not resolve the process group registered under {name!r}")


class _WorldMeta(type):
    @property
    def WORLD(cls) -> Any:
        """The default group; None before init_process_group."""
        return world.default

    @WORLD.setter
    def WORLD(cls, group: Any) -> None:
        world.default = group


class group(metaclass=_WorldMeta):
    """``group.WORLD`` is the default group."""


class GroupMember(metaclass=_WorldMeta):
    """``GroupMember.NON_GROUP_MEMBER`` is the result for ranks outside a new group."""

    NON_GROUP_MEMBER = NON_GROUP_MEMBER


def _make_each(backend: str, store: Store, *facts: Any, **options: Any) -> Any:
    """A group of the backend; with one per type of device, of each whose devices this
    machine has.
    """
    named = BackendConfig(backend).device_backend_map
    kinds = {d: name for d, name in named.items() if d == "cpu" or _has_devices(d)}
    if len(set(kinds.values())) < 2:
        return _make(_cpu_backend(backend), store, *facts, **options)
    from pellucid.distributed._group.nccl import PerDevice

    return PerDevice(
        {
            device: _make(name, PrefixStore(device, store), *facts, **options)
            for device, name in kinds.items()
        }
    )


def _has_devices(kind: str) -> bool:
    module = getattr(torch, kind, None)
    return module is not None and bool(module.is_available())


def _cpu_backend(backend: str) -> str:
    mapping = BackendConfig(backend).device_backend_map
    name = mapping.get("cpu") or next(iter(mapping.values()))
    if name not in Backend.backend_list:
        raise ValueError(
            f"Unknown c10d backend type {name.upper()}; there are "
            f"{', '.join(Backend.backend_list[1:])}, and what "
            "Backend.register_backend adds"
        )
    return name


def _make(
    name: str,
    store: Store,
    rank: int,
    ranks: Sequence[int],
    timeout: timedelta,
    **k: Any,
) -> Any:
    size = len(ranks)
    if name in Backend._plugins:
        create, is_extended = Backend._plugins[name]
        if is_extended:
            given = _DistributedBackendOptions(
                store, rank, size, timeout, k["group_name"], ranks
            )
            return create(given, k.get("pg_options"))
        return create(store, rank, size, timeout)
    if name == "mpi":
        from pellucid.distributed._group.mpi import MpiGroup

        return MpiGroup(store, rank, ranks, timeout)
    if name == "nccl":
        from pellucid.distributed._group.nccl import NcclGroup

        return NcclGroup(store, rank, size, timeout, k.get("device_id"))
    return NativeGroup(store, rank, size, timeout)


def make_group(
    backend: str,
    store: Store,
    rank: int,
    ranks: Sequence[int],
    timeout: timedelta,
    *,
    name: str,
    desc: str,
    **options: Any,
) -> Any:
    """Makes a group, of which this process has a rank; ``ranks`` are global ones."""
    made = _make_each(backend, store, rank, ranks, timeout, group_name=name, **options)
    made.group_name, made.group_desc = name, desc
    made._global_ranks = list(ranks)
    world.groups[made] = backend
    return made


def init_process_group(
    backend: str | None = None,
    init_method: str | None = None,
    timeout: timedelta | None = None,
    world_size: int = -1,
    rank: int = -1,
    store: Store | None = None,
    group_name: str = "",
    pg_options: Any = None,
    device_id: Any = None,
    _ranks: Any = None,
) -> None:
    """Makes the default group of all processes; every one of them calls it.

    They find each other by ``store``, or ``init_method``: "env://" (the default),
    "tcp://host:port", "file:///path". Collectives raise DistBackendError after
    ``timeout`` (30 minutes).

    Example: ``init_process_group("gloo")`` in a program started by
    ``python -m pellucid.distributed.run --nproc-per-node=2``.
    """
    if world.default is not None:
        raise ValueError(
            "trying to initialize the default process group twice! Call "
            "destroy_process_group() first, or new_group() for another group"
        )
    if store is not None and init_method is not None:
        raise ValueError("Cannot specify both init_method and store.")
    if timeout is not None and not isinstance(timeout, timedelta):
        raise ValueError(f"timeout must be a datetime.timedelta, not {timeout!r}")
    limit = timeout or default_pg_timeout
    name = _cpu_backend(backend or "undefined")
    if name == "mpi" and store is None and init_method is None:
        from pellucid.distributed._group.mpi import place_of_this_process

        store, rank, world_size = place_of_this_process()
    if store is None:
        url = init_method or "env://"
        store, rank, world_size = next(rendezvous(url, rank, world_size, timeout=limit))
        store.set_timeout(limit)
    elif rank < 0 or world_size <= 0:
        raise ValueError("rank and world_size are needed with a store")
    check_rank(rank, world_size)
    world.num_inits += 1
    world.store = PrefixStore(f"init_{world.num_inits}", store)
    own = PrefixStore("default_pg", world.store)
    ranks = range(world_size)
    world.default = make_group(
        *(backend or "undefined", own, rank, ranks, limit),
        name="0",
        desc="default_pg",
        pg_options=pg_options,
        device_id=device_id,
    )
    world.default._default_timeout = limit
    world.num_groups = 1


def destroy_process_group(group: Any = None) -> None:
    """Destroys a group on this rank; by default all groups."""
    if group is NON_GROUP_MEMBER:
        return
    target = group_of(group)
    if target not in world.groups:
        raise ValueError("Invalid process group specified or has been destroyed.")
    ending = list(world.groups) if target is world.default else [target]
    for each in reversed(ending):
        each.shutdown()
        del world.groups[each]
    if target is world.default:
        world.default, world.store = None, None
        world.local_groups.clear()


def new_group(
    ranks: Sequence[int] | None = None,
    timeout: timedelta | None = None,
    backend: str | None = None,
    pg_options: Any = None,
    use_local_synchronization: bool = False,
    group_desc: str | None = None,
    device_id: Any = None,
    sort_ranks: bool = True,
) -> Any:
    """Makes a group of some ranks; all processes call it, in the same order, members or
    not (with ``use_local_synchronization`` only members). Non-members get
    ``GroupMember.NON_GROUP_MEMBER``. Ranks of the group are in the order of global
    ranks, or as given without ``sort_ranks``.
    """
    default = group_of(None)
    size, own = default.size(), default.rank()
    chosen = list(range(size) if ranks is None else ranks)
    chosen = sorted(chosen) if sort_ranks else chosen
    if len(set(chosen)) != len(chosen) or any(not 0 <= r < size for r in chosen):
        raise ValueError(
            f"the new group's rank should be within the world_size {size}, each once; "
            f"given {list(ranks or ())}"
        )
    name = _group_name(tuple(chosen), use_local_synchronization)
    if own not in chosen:
        return NON_GROUP_MEMBER
    kind = world.groups[default] if backend is None else backend
    limit = timeout or default._default_timeout
    assert world.store is not None
    store = WatchedStore(
        f"group_{name}", world.store, lambda: default.check_alive(chosen)
    )
    return make_group(
        *(kind, store, chosen.index(own), chosen, limit),
        name=name,
        desc=group_desc or "undefined",
        pg_options=pg_options,
        device_id=device_id,
    )


def _group_name(ranks: tuple[int, ...], is_local: bool) -> str:
    if not is_local:
        world.num_groups += 1
        return str(world.num_groups - 1)
    world.local_groups[ranks] = world.local_groups.get(ranks, 0) + 1
    digest = hashlib.sha256(repr(ranks).encode()).hexdigest()[:16]
    return f"{digest}_{world.local_groups[ranks]}"


def new_subgroups_by_enumeration(
    ranks_per_subgroup_list: Sequence[Sequence[int]],
    timeout: timedelta | None = None,
    backend: str | None = None,
    pg_options: Any = None,
    group_desc: str | None = None,
) -> tuple[Any, list[Any]]:
    """Makes groups of the given ranks; returns this rank's group or None, and all."""
    groups, own = [], None
    if not ranks_per_subgroup_list:
        raise ValueError("The arg 'ranks_per_subgroup_list' cannot be empty")
    flat = [rank for ranks in ranks_per_subgroup_list for rank in ranks]
    if len(set(flat)) != len(flat):
        raise ValueError(f"a rank is in several subgroups: {ranks_per_subgroup_list}")
    for ranks in ranks_per_subgroup_list:
        made = new_group(ranks, timeout, backend, pg_options, group_desc=group_desc)
        groups.append(made)
        own = made if get_rank() in ranks else own
    return own, groups


def new_subgroups(
    group_size: int | None = None,
    group: Any = None,
    timeout: timedelta | None = None,
    backend: str | None = None,
    pg_options: Any = None,
    group_desc: str | None = None,
) -> tuple[Any, list[Any]]:
    """Makes groups of ``group_size`` consecutive ranks; this rank's group, and all."""
    size = get_world_size()
    step = group_size or int(os.environ.get("LOCAL_WORLD_SIZE", size))
    if step <= 0 or size % step:
        raise ValueError(f"the world size ({size}) must be divisible by {step}")
    ranks = [range(start, start + step) for start in range(0, size, step)]
    return new_subgroups_by_enumeration(ranks, timeout, backend, pg_options, group_desc)


def split_group(
    parent_pg: Any = None,
    split_ranks: Sequence[Sequence[int]] | None = None,
    timeout: timedelta | None = None,
    pg_options: Any = None,
    group_desc: str | None = None,
    backend: str | None = None,
) -> Any:
    """Splits a group into subgroups ``split_ranks``, given by ranks of the group;
    returns this rank's subgroup or None. All ranks of the group call it.
    """
    parent = group_of(parent_pg)
    if not split_ranks:
        raise ValueError("split_ranks cannot be None or empty")
    flat = [rank for ranks in split_ranks for rank in ranks]
    if len(set(flat)) != len(flat):
        raise ValueError(f"the split groups should not overlap: {split_ranks}")
    for ranks in split_ranks:
        if parent.rank() in ranks:
            members = [parent._global_ranks[rank] for rank in ranks]
            kind = world.groups[parent] if backend is None else backend
            return new_group(
                *(members, timeout, kind, pg_options, True, group_desc),
                sort_ranks=False,
            )
    return None


def shrink_group(
    ranks_to_exclude: Sequence[int],
    group: Any = None,
    shrink_flags: int = 0,
    pg_options: Any = None,
) -> Any:
    """Makes a group of the members that stay, which alone call it. The former group is
    destroyed; if it is the default one, the new one takes its place.
    """
    former = group_of(group)
    excluded = set(ranks_to_exclude)
    if not excluded:
        raise ValueError("ranks_to_exclude cannot be empty")
    if former.rank() in excluded:
        raise RuntimeError(f"rank {former.rank()} is excluded: it must not call it")
    ranks = [r for k, r in enumerate(former._global_ranks) if k not in excluded]
    made = new_group(
        *(ranks, timedelta(seconds=former._timeout), world.groups[former], pg_options),
        use_local_synchronization=True,
    )
    if former is world.default:
        made._default_timeout = former._default_timeout
        world.default = made
    former.shutdown()
    del world.groups[former]
    return made


def is_initialized() -> bool:
    """Whether there is a default group."""
    return world.default is not None


def get_rank(group: Any = None) -> int:
    """This process's rank in a group; -1 if it is not a member."""
    target = group_of(group)
    return -1 if target is NON_GROUP_MEMBER else int(target.rank())


def get_world_size(group: Any = None) -> int:
    """The number of processes of a group; -1 if this one is not a member."""
    target = group_of(group)
    return -1 if target is NON_GROUP_MEMBER else int(target.size())


def get_backend(group: Any = None) -> Backend:
    """The name of a group's backend."""
    target = group_of(group)
    if target not in world.groups:
        raise ValueError("Invalid process group specified")
    return Backend(_cpu_backend(world.groups[target]))


def get_backend_config(group: Any = None) -> str:
    """The backends of a group by device type."""
    return repr(BackendConfig(world.groups[group_of(group)]))


def get_process_group_ranks(group: Any = None) -> list[int]:
    """The global ranks of a group's members."""
    return list(group_of(group)._global_ranks)


def get_global_rank(group: Any, group_rank: int) -> int:
    """The global rank of a member of a group."""
    ranks = get_process_group_ranks(group)
    if not 0 <= group_rank < len(ranks):
        raise ValueError(
            f"Group rank {group_rank} is not part of a group of {len(ranks)} ranks"
        )
    return ranks[group_rank]


def get_group_rank(group: Any, global_rank: int) -> int:
    """The rank in a group of a process, given by its global rank."""
    ranks = get_process_group_ranks(group)
    if global_rank not in ranks:
        raise ValueError(
            f"Global rank {global_rank} is not part of the group; its ranks are {ranks}"
        )
    return ranks.index(global_rank)


def get_node_local_rank(fallback_rank: int | None = None) -> int:
    """This process's rank on its machine, set by the launcher."""
    if "LOCAL_RANK" in os.environ:
        return int(os.environ["LOCAL_RANK"])
    if fallback_rank is not None:
        return fallback_rank
    raise RuntimeError(
        "LOCAL_RANK is not in the environment: start the program by the launcher, or "
        "give fallback_rank"
    )


def get_pg_count() -> int:
    """The number of groups."""
    return len(world.groups)


def check_member(group: Any, name: str) -> Any:
    """The group, or None with a warning if this process is not a member. Every
    collective calls it first, with its name.
    """
    target = world.default if group is None else group
    if target is None:
        raise no_group()
    for observe in world.observers:
        observe(name)
    if target is NON_GROUP_MEMBER:
        warnings.warn(
            f"Running {name} on global rank {get_rank()} which does not belong to the "
            "given group.",
            stacklevel=3,
        )
        return None
    return target


def _leave_all() -> None:
    for each in list(world.groups):
        if isinstance(each, ProcessGroup):
            each.shutdown()


atexit.register(_leave_all)
