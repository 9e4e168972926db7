"""``torch.cuda.streams``: queues and marks of a device."""

from pellucid.cuda import Event as Event
from pellucid.cuda import ExternalStream as ExternalStream
from pellucid.cuda import Stream as Stream
