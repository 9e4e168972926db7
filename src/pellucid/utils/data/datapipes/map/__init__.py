"""Indexed pipes, under the names of their classes without ``MapDataPipe``."""

from pellucid.utils.data.datapipes.map.pipes import BatcherMapDataPipe as Batcher
from pellucid.utils.data.datapipes.map.pipes import ConcaterMapDataPipe as Concater
from pellucid.utils.data.datapipes.map.pipes import MapperMapDataPipe as Mapper
from pellucid.utils.data.datapipes.map.pipes import (
    SequenceWrapperMapDataPipe as SequenceWrapper,
)
from pellucid.utils.data.datapipes.map.pipes import ShufflerIterDataPipe as Shuffler
from pellucid.utils.data.datapipes.map.pipes import ZipperMapDataPipe as Zipper

__all__ = ["Batcher", "Concater", "Mapper", "SequenceWrapper", "Shuffler", "Zipper"]
