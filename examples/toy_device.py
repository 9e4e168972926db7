"""A chip in Python: first-fit memory, addresses of its own, and kernels in NumPy.

Run it: ``python examples/toy_device.py`` trains a perceptron on ``torch.device("toy")``
and prints which kernels the chip ran. ``docs/devices.md`` explains the parts.
"""

import bisect

import numpy as np
from numpy.lib.stride_tricks import as_strided

import pellucid as torch
from pellucid.devices import Backend, reference, register

BASE = 1 << 40  # above all addresses of the host
ALIGNMENT = 32


class Memory:
    """First fit: the lowest free block that is large enough."""

    def __init__(self, nbytes):
        self.bytes = np.full(nbytes, 0xA5, np.uint8)
        self.free = [(0, nbytes)]  # (start, size), sorted

    def allocate(self, nbytes):
        size = -(-nbytes // ALIGNMENT) * ALIGNMENT
        for number, (start, available) in enumerate(self.free):
            if available >= size:
                rest = [(start + size, available - size)] if available > size else []
                self.free[number : number + 1] = rest
                return start
        raise MemoryError(f"the chip has no free block of {nbytes} bytes")

    def release(self, start, nbytes):
        size = -(-nbytes // ALIGNMENT) * ALIGNMENT
        place = bisect.bisect(self.free, (start, size))
        self.free.insert(place, (start, size))
        merged = []
        for begin, length in self.free[max(place - 1, 0) : place + 2]:
            if merged and sum(merged[-1]) == begin:
                merged[-1] = (merged[-1][0], merged[-1][1] + length)
            else:
                merged.append((begin, length))
        self.free[max(place - 1, 0) : place + 2] = merged


class Toy(Backend):
    name, count = "toy", 2

    def __init__(self, nbytes=1 << 26):
        self.memories = [Memory(nbytes) for _ in range(self.count)]

    def allocate(self, device, nbytes):
        return BASE + self.memories[device].allocate(nbytes)

    def release(self, device, address, nbytes):
        self.memories[device].release(address - BASE, nbytes)

    def to_host(self, device, address, into):
        at = address - BASE
        into[:] = memoryview(self.memories[device].bytes)[at : at + len(into)]

    def from_host(self, device, address, data):
        at = address - BASE
        memoryview(self.memories[device].bytes)[at : at + len(data)] = data

    def launch(self, launch):
        """Runs any kernel except those with dtypes that NumPy lacks."""

        def view(address, dtype, sizes, strides):
            return self.view(launch.device, address, dtype, sizes, strides)

        try:
            reference.run(launch, view)
        except NotImplementedError:
            return NotImplemented
        return None

    def view(self, device, address, dtype, sizes, strides):
        """Memory as an array; strides are in bytes, bfloat16 is uint16."""
        kind = np.dtype(reference.array_dtype(dtype))
        memory = self.memories[device].bytes
        whole = memory[address - BASE :][: kind.itemsize].view(kind)
        return as_strided(whole, sizes, strides)


def main():
    register(Toy())
    torch.manual_seed(0)
    layers = (torch.nn.Linear(8, 32), torch.nn.ReLU(), torch.nn.Linear(32, 4))
    model = torch.nn.Sequential(*layers).to("toy")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    x = torch.randn(64, 8, device="toy")
    y = (x.sum(1) > 0).long()
    with torch.devices.trace() as log:
        for _ in range(20):
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
    print(f"loss {loss.item():.4f}; {len(log)} steps")
    for op, form, outcome in sorted({(e.op, e.form, e.outcome) for e in log}):
        print(f"{op:44} {form:8} {outcome}")


if __name__ == "__main__":
    main()
