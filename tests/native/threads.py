"""Many threads at once, for ThreadSanitizer: ``make sanitize-threads``.

    python tests/native/threads.py [rounds]

Threads share tensors, parameters, generators and a loader; they meet ops for the first
time together, share large ops, recurrences and batches of matrices between the threads
of the pool, and differentiate into the same leaves. Results are compared with those of
one thread. Races show as reports of the sanitizer, whose exit status
``tools/sanitize.py`` passes on.
"""

import sys
import threading

import pellucid as torch
from pellucid.utils.data import DataLoader, TensorDataset

THREADS = 4
LARGE = 1 << 17  # elements: enough to split an op across the pool


def together(work):
    """``work(k)`` on all threads, which start simultaneously; reraises their errors."""
    errors = []
    barrier = threading.Barrier(THREADS)

    def run(number):
        barrier.wait()
        try:
            work(number)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(k,)) for k in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def gradient_of_recurrence(layer, sequences):
    """Blocks of examples run in both directions on several threads."""
    inputs = sequences.clone().requires_grad_()
    (grad,) = torch.autograd.grad(layer(inputs)[0].sum(), inputs)
    return grad.sum()


def share_large_ops(round_number):
    x = torch.linspace(-3, 3, LARGE)
    matrix = x[: 1 << 14].reshape(128, 128)
    images = x[: 1 << 15].reshape(2, 16, 32, 32)
    weight = x[: 16 * 16 * 9].reshape(16, 16, 3, 3)
    last = images.to(memory_format=torch.channels_last)
    layer, sequences = torch.nn.LSTM(16, 32), x[: 1 << 15].reshape(16, 128, 16)
    calls = (
        lambda: (x.exp() * x).sum(),
        lambda: (matrix @ matrix).amax(),
        lambda: torch.softmax(matrix, 1).cumsum(0)[-1, -1],
        lambda: torch.nn.functional.conv2d(images, weight, padding=1).mean(),
        lambda: torch.nn.functional.conv2d(last, weight, padding=1).mean(),
        lambda: torch.nn.functional.max_pool2d(last, 2).sum(),
        lambda: gradient_of_recurrence(layer, sequences),
        lambda: x.sort(descending=True)[0][:5].sum(),
    )
    expected = [call().item() for call in calls]

    def work(number):
        for k in range(len(calls)):
            which = (k + number + round_number) % len(calls)
            assert calls[which]().item() == expected[which]

    together(work)


def differentiate_into_shared_leaves(_):
    weight = torch.ones(64, 64, requires_grad=True)
    base = torch.linspace(0, 1, 64 * 64).reshape(64, 64)

    def work(number):
        for _ in range(5):
            view = base.t()[number : number + 32]
            (torch.tanh(view @ weight) * view).sum().backward()
            with torch.no_grad():
                assert not (weight * 2).requires_grad
            weight.register_hook(lambda grad: grad).remove()

    together(work)
    assert weight.grad is not None and bool(weight.grad.isfinite().all())


def share_matrices(_):
    """All threads load LAPACK at once, and call it from the pool."""
    batch = torch.arange(40.0 * 24 * 24).sin().reshape(40, 24, 24)
    calls = (torch.linalg.inv, torch.linalg.svdvals, torch.linalg.det)
    actual = []

    def work(number):
        order = calls[number % len(calls) :] + calls[: number % len(calls)]
        actual.append({call: call(batch).sum().item() for call in order})

    together(work)
    assert all(results == actual[0] for results in actual)


def hand_tensors_over(_):
    """Tensors are created by one thread and freed by another."""
    shelf = []

    def work(number):
        for k in range(200):
            shelf.append(torch.full((16,), float(k))[number:].clone())
            if len(shelf) > 8:
                shelf.pop(0).add_(1)

    together(work)


def draw_and_load(_):
    data = TensorDataset(torch.arange(64.0).reshape(32, 2))
    generator = torch.Generator()

    def work(number):
        for _ in range(3):
            torch.rand(8, generator=generator), torch.randn(8)
            seen = sum(batch[0].sum().item() for batch in DataLoader(data, 4))
            assert seen == 2016.0
            torch.set_num_threads(1 + number % 3)

    together(work)
    torch.set_num_threads(THREADS)


def meet_ops_first(round_number):
    dtypes = (torch.int16, torch.int32, torch.uint8, torch.float64, torch.int8)
    x = torch.arange(24).to(dtypes[round_number % len(dtypes)]).view(2, 3, 4)

    def work(number):
        for dim in range(3):
            x.amax(dim), x.cumsum(dim), x.flip(dim), (x > number).all(dim)
            x.sort(dim), x.argmin(dim), x.roll(1, dim), x * x - number, x[:, 1] == 2
        torch.func.vmap(lambda row: row.sum())(x)

    together(work)


def main(rounds):
    sys.setswitchinterval(1e-3)
    torch.set_num_threads(THREADS)
    for round_number in range(rounds):
        meet_ops_first(round_number)
        share_matrices(round_number)
        share_large_ops(round_number)
        differentiate_into_shared_leaves(round_number)
        hand_tensors_over(round_number)
        draw_and_load(round_number)
    print(f"{rounds} rounds of {THREADS} threads")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2)
