"""Forecasts the carbon dioxide above Mauna Loa with an LSTM.

The series is Keeling's: weekly means from 1958 to 2001, as statsmodels ships them. The
network learns a year's changes from three years of them, sees nothing after 1990, and
is then asked to continue the curve year by year. Prints the error beside that of
repeating last year's change; saves a picture of the forecast.
"""

from __future__ import annotations

import argparse
import csv
from importlib import metadata
from pathlib import Path
from time import perf_counter

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from tqdm import tqdm

import pellucid as torch
from pellucid import nn
from pellucid.utils.data import DataLoader, TensorDataset

PERIOD = 12  # months
MEMORY = 3 * PERIOD  # the network's input
LAST_TRAINING_YEAR = 1990


def load_series():
    """(years as fractions, parts per million) by month, with gaps filled linearly."""
    files = metadata.files("statsmodels")
    path = next(f.locate() for f in files if str(f).endswith("datasets/co2/co2.csv"))
    months = {}
    with open(path, newline="") as file:
        for row in list(csv.reader(file))[1:]:
            day, value = row[0], row[1]
            if value:
                key = int(day[:4]) * 12 + int(day[4:6]) - 1
                months.setdefault(key, []).append(float(value))
    keys = range(min(months), max(months) + 1)
    known = {key: sum(values) / len(values) for key, values in months.items()}
    series = []
    for key in keys:
        before = max(k for k in known if k <= key)
        after = min(k for k in known if k >= key)
        part = (key - before) / (after - before) if after > before else 0.0
        series.append(known[before] * (1 - part) + known[after] * part)
    years = [key / 12 + 1 / 24 for key in keys]
    return torch.tensor(years), torch.tensor(series)


class Forecaster(nn.Module):
    """Reads monthly changes and predicts those of the next year."""

    def __init__(self, hidden=48):
        super().__init__()
        self.lstm = nn.LSTM(1, hidden, batch_first=True)
        self.head = nn.Linear(hidden, PERIOD)

    def forward(self, changes):
        states, _ = self.lstm(changes.unsqueeze(-1))
        seasonal = changes[:, -PERIOD:]
        return seasonal + self.head(states[:, -1])


def windows(changes):
    """(the network's input, the following changes) for every month."""
    count = len(changes) - MEMORY - PERIOD + 1
    seen = torch.stack([changes[i : i + MEMORY] for i in range(count)])
    follows = changes.unfold(0, PERIOD, 1)[MEMORY:]
    return TensorDataset(seen, follows.clone())


def train(model, dataset, epochs):
    """Trains with AdamW and a one-cycle rate; returns the loss of each epoch."""
    loader = DataLoader(dataset, batch_size=32, shuffle=True)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, max_lr=5e-3, total_steps=epochs * len(loader)
    )
    history = []
    progress = tqdm(range(epochs), desc="training", unit="epoch")
    for _ in progress:
        total = 0.0
        for seen, follows in loader:
            loss = nn.functional.smooth_l1_loss(model(seen), follows)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            total += loss.item() * len(seen)
        history.append(total / len(dataset))
        progress.set_postfix(loss=f"{history[-1]:.4f}")
    return history


@torch.no_grad()
def continue_series(model, changes, months):
    """``months`` further changes, a year at a time from the model's own forecast."""
    model.eval()
    known = changes.clone()
    for _ in range(-(-months // PERIOD)):
        following = model(known[-MEMORY:].unsqueeze(0))[0]
        known = torch.cat((known, following))
    return known[len(changes) : len(changes) + months]


def draw(path, years, series, forecast, split):
    figure, (whole, detail) = plt.subplots(
        1, 2, figsize=(12, 4.5), layout="constrained", width_ratios=(3, 2)
    )
    for axes in (whole, detail):
        axes.plot(years, series, color="0.55", lw=1, label="measured")
        axes.plot(years[split:], forecast, color="crimson", lw=1.2, label="forecast")
        axes.set(xlabel="year", ylabel="CO2 (parts per million)")
        axes.axvline(years[split], color="0.8", lw=1)
    whole.set_title("Mauna Loa, from 1958")
    whole.legend()
    detail.set_title("The first five years that the network did not see")
    detail.set_xlim(years[split] - 1, years[split] + 5)
    near = [
        v for y, v in zip(years, series, strict=True) if abs(y - years[split] - 2) < 3
    ]
    detail.set_ylim(min(near) - 1, max(near) + 2)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--picture", type=Path, default="demo-output/forecast.png")
    options = parser.parse_args()
    torch.manual_seed(options.seed)
    years, series = load_series()
    split = int((years < LAST_TRAINING_YEAR + 1).sum())
    changes = series[1:] - series[:-1]
    known, rest = changes[: split - 1], len(series) - split
    model = Forecaster()
    start = perf_counter()
    train(model, windows(known), options.epochs)
    seconds = perf_counter() - start
    ahead = continue_series(model, known, rest)
    forecast = series[split - 1] + ahead.cumsum(0)
    repeated = known[-PERIOD:].repeat(-(-rest // PERIOD))[:rest]
    naive = series[split - 1] + repeated.cumsum(0)
    truth = series[split:]
    print(f"training             {seconds:.2f} s")
    for name, months in (
        ("1 year", 12),
        ("5 years", 60),
        (f"{rest // 12} years", rest),
    ):
        error = (forecast - truth)[:months].abs().mean().item()
        plain = (naive - truth)[:months].abs().mean().item()
        print(f"mean error, {name:<8} {error:.2f} ppm (last year again: {plain:.2f})")
    draw(options.picture, years.tolist(), series.tolist(), forecast.tolist(), split)
    print(f"picture              {options.picture}")


if __name__ == "__main__":
    main()
