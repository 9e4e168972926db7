"""Iterable pipes, under the names of their classes without ``IterDataPipe``."""

from pellucid.utils.data.datapipes.iter.callable import (
    CollatorIterDataPipe as Collator,
)
from pellucid.utils.data.datapipes.iter.callable import MapperIterDataPipe as Mapper
from pellucid.utils.data.datapipes.iter.combinatorics import (
    SamplerIterDataPipe as Sampler,
)
from pellucid.utils.data.datapipes.iter.combinatorics import (
    ShufflerIterDataPipe as Shuffler,
)
from pellucid.utils.data.datapipes.iter.combining import (
    ConcaterIterDataPipe as Concater,
)
from pellucid.utils.data.datapipes.iter.combining import (
    DemultiplexerIterDataPipe as Demultiplexer,
)
from pellucid.utils.data.datapipes.iter.combining import ForkerIterDataPipe as Forker
from pellucid.utils.data.datapipes.iter.combining import (
    MultiplexerIterDataPipe as Multiplexer,
)
from pellucid.utils.data.datapipes.iter.combining import ZipperIterDataPipe as Zipper
from pellucid.utils.data.datapipes.iter.files import (
    FileListerIterDataPipe as FileLister,
)
from pellucid.utils.data.datapipes.iter.files import (
    FileOpenerIterDataPipe as FileOpener,
)
from pellucid.utils.data.datapipes.iter.files import (
    StreamReaderIterDataPipe as StreamReader,
)
from pellucid.utils.data.datapipes.iter.grouping import BatcherIterDataPipe as Batcher
from pellucid.utils.data.datapipes.iter.grouping import GrouperIterDataPipe as Grouper
from pellucid.utils.data.datapipes.iter.grouping import (
    UnBatcherIterDataPipe as UnBatcher,
)
from pellucid.utils.data.datapipes.iter.selecting import FilterIterDataPipe as Filter
from pellucid.utils.data.datapipes.iter.sharding import (
    ShardingFilterIterDataPipe as ShardingFilter,
)
from pellucid.utils.data.datapipes.iter.utils import (
    IterableWrapperIterDataPipe as IterableWrapper,
)

__all__ = [
    "Batcher",
    "Collator",
    "Concater",
    "Demultiplexer",
    "FileLister",
    "FileOpener",
    "Filter",
    "Forker",
    "Grouper",
    "IterableWrapper",
    "Mapper",
    "Multiplexer",
    "Sampler",
    "ShardingFilter",
    "Shuffler",
    "StreamReader",
    "UnBatcher",
    "Zipper",
]
