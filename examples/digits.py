"""Trains a convolutional network on real handwritten digits and shows what it learnt.

The data is the UCI optical-recognition set that scikit-learn ships: 1,797 images of 8x8
pixels, a fifth of them held out for the test. Training images are shifted by a pixel at
random. Prints the test accuracy and the time of each part; saves a picture of the loss
and of some predictions. Run it with ``make demo``.
"""

from __future__ import annotations

import argparse
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from tqdm import tqdm

import pellucid as torch
from pellucid import nn
from pellucid.utils.data import DataLoader, TensorDataset

WANTED_ACCURACY = 0.985


class Stopwatch:
    """Adds up the seconds spent in named parts of the program."""

    def __init__(self):
        self.seconds = {}

    @contextmanager
    def part(self, name):
        start = perf_counter()
        yield
        self.add(name, perf_counter() - start)

    def add(self, name, seconds):
        self.seconds[name] = self.seconds.get(name, 0.0) + seconds

    def timed(self, name, iterable):
        """``iterable``, with the time to produce each item counted as ``name``."""
        iterator = iter(iterable)
        while True:
            start = perf_counter()
            item = next(iterator, None)
            self.add(name, perf_counter() - start)
            if item is None:
                return
            yield item


def load_data():
    """Training and test sets of (image, digit): 1x8x8 pixels from 0 to 1, float32."""
    digits = load_digits()
    parts = train_test_split(
        (digits.images[:, None] / 16).astype("float32"),
        digits.target,
        test_size=0.2,
        random_state=0,
        stratify=digits.target,
    )
    train_x, test_x, train_y, test_y = (torch.from_numpy(part) for part in parts)
    return TensorDataset(train_x, train_y), TensorDataset(test_x, test_y)


def make_model():
    return nn.Sequential(
        nn.Conv2d(1, 24, 3, padding=1),
        nn.BatchNorm2d(24),
        nn.ReLU(),
        nn.Conv2d(24, 32, 3, padding=1),
        nn.BatchNorm2d(32),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(32, 48, 3, padding=1),
        nn.BatchNorm2d(48),
        nn.ReLU(),
        nn.Flatten(),
        nn.Dropout(0.3),
        nn.Linear(48 * 4 * 4, 10),
    )


def moved(images):
    """The batch shifted by at most a pixel in each direction, with blank borders."""
    row, column = torch.randint(0, 3, (2,)).tolist()
    padded = nn.functional.pad(images, (1, 1, 1, 1))
    return padded[:, :, row : row + 8, column : column + 8]


def train(model, dataset, epochs, watch):
    """Trains with AdamW and a one-cycle rate; returns the mean loss of each epoch."""
    loader = DataLoader(dataset, batch_size=32, shuffle=True)
    optimizer = torch.optim.AdamW(model.parameters(), weight_decay=0.05)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, max_lr=8e-3, total_steps=epochs * len(loader)
    )
    loss_of = nn.CrossEntropyLoss()
    history = []
    progress = tqdm(range(epochs), desc="training", unit="epoch")
    for _ in progress:
        total = 0.0
        for images, labels in watch.timed("data", loader):
            with watch.part("data"):
                images = moved(images)
            with watch.part("forward"):
                loss = loss_of(model(images), labels)
            with watch.part("backward"):
                optimizer.zero_grad()
                loss.backward()
            with watch.part("optimizer"):
                optimizer.step()
                schedule.step()
            total += loss.item() * len(labels)
        history.append(total / len(dataset))
        progress.set_postfix(loss=f"{history[-1]:.4f}")
    return history


@torch.no_grad()
def predict(model, images):
    """The digit that the model predicts for each image."""
    model.eval()
    return model(images).argmax(1)


def draw(path, history, images, labels, predictions):
    """The loss curve, and test images with their predictions, mistakes first."""
    wrong = (predictions != labels).nonzero().flatten().tolist()
    right = (predictions == labels).nonzero().flatten().tolist()
    shown = (wrong[:6] + right)[:18]
    figure = plt.figure(figsize=(11, 4.5), layout="constrained")
    curve, grid = figure.subfigures(1, 2)
    axes = curve.subplots()
    axes.semilogy(range(1, len(history) + 1), history)
    axes.set(xlabel="epoch", ylabel="training loss", title="Loss")
    grid.suptitle("Predictions on the test set")
    for cell, index in zip(grid.subplots(3, 6).flat, shown, strict=True):
        seen, truth = int(predictions[index]), int(labels[index])
        cell.imshow(images[index].reshape(8, 8).numpy(), cmap="gray_r")
        cell.set_title(
            f"{seen}" if seen == truth else f"{seen}, is {truth}",
            color="black" if seen == truth else "crimson",
        )
        cell.axis("off")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)


def report(accuracy, seconds, watch):
    print(f"test accuracy  {accuracy:.2%}")
    print(f"training       {seconds:.2f} s")
    for name, spent in watch.seconds.items():
        print(f"  {name:<12} {spent:.2f} s  {spent / seconds:4.0%}")
    other = seconds - sum(watch.seconds.values())
    print(f"  {'other':<12} {other:.2f} s  {other / seconds:4.0%}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--picture", type=Path, default="demo-output/digits.png")
    options = parser.parse_args()

    torch.manual_seed(options.seed)
    train_set, test_set = load_data()
    model = make_model()
    watch = Stopwatch()
    start = perf_counter()
    history = train(model, train_set, options.epochs, watch)
    seconds = perf_counter() - start

    images, labels = test_set.tensors
    predictions = predict(model, images)
    accuracy = (predictions == labels).float().mean().item()
    report(accuracy, seconds, watch)
    draw(options.picture, history, images, labels, predictions)
    print(f"picture        {options.picture}")
    if accuracy < WANTED_ACCURACY:
        raise SystemExit(f"the accuracy should have reached {WANTED_ACCURACY:.1%}")


if __name__ == "__main__":
    main()
