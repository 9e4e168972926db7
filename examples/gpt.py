"""Trains a small GPT on the source of Python's standard library and generates text.

Characters are tokens. Prints the loss on held-out files and a sample of generated text
before and after training; saves a page with the loss and the text, each character
shaded by its probability under the model.
"""

from __future__ import annotations

import argparse
import html
import math
import sysconfig
from pathlib import Path
from time import perf_counter

from tqdm import tqdm

import pellucid as torch
from pellucid import nn
from pellucid.nn import functional as F

HELD_OUT = ("heapq", "queue", "textwrap", "fractions")


def load_text():
    """(training text, text of held-out modules), in a common set of characters."""
    folder = Path(sysconfig.get_path("stdlib"))
    texts = {}
    for path in sorted(folder.glob("*.py")):
        text = path.read_text(encoding="utf-8", errors="ignore")
        texts[path.stem] = "".join(c for c in text if c == "\n" or " " <= c <= "~")
    train = "".join(text for name, text in texts.items() if name not in HELD_OUT)
    return train, "".join(texts[name] for name in HELD_OUT)


class Block(nn.Module):
    """Causal self-attention and a feed-forward network, each after a norm."""

    def __init__(self, width, heads, dropout):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.mlp = nn.Sequential(
            nn.Linear(width, 4 * width),
            nn.GELU(),
            nn.Linear(4 * width, width),
            nn.Dropout(dropout),
        )

    def forward(self, x):
        batch, length, width = x.shape
        split = self.qkv(self.norm1(x)).view(batch, length, 3, self.heads, -1)
        q, k, v = split.permute(2, 0, 3, 1, 4).unbind(0)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, length, width))
        return x + self.mlp(self.norm2(x))


class GPT(nn.Module):
    """Characters to scores of the next character (Radford et al., 2018)."""

    def __init__(self, num_tokens, width=96, depth=3, heads=4, context=96, dropout=0.0):
        super().__init__()
        self.context = context
        self.tokens = nn.Embedding(num_tokens, width)
        self.places = nn.Embedding(context, width)
        self.blocks = nn.Sequential(
            *(Block(width, heads, dropout) for _ in range(depth))
        )
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, num_tokens, bias=False)
        for module in self.modules():
            if isinstance(module, (nn.Linear, nn.Embedding)):
                nn.init.normal_(module.weight, std=0.02)

    def forward(self, tokens):
        x = self.tokens(tokens) + self.places(torch.arange(tokens.shape[1]))
        return self.head(self.norm(self.blocks(x)))


def batch_of(data, size, context):
    """Random pieces of the text, and the same shifted by one."""
    starts = torch.randint(len(data) - context - 1, (size, 1))
    places = starts + torch.arange(context + 1)
    pieces = data[places]
    return pieces[:, :-1], pieces[:, 1:]


def loss_of(model, inputs, targets):
    return F.cross_entropy(model(inputs).flatten(0, 1), targets.flatten())


@torch.no_grad()
def evaluate(model, data, batches=10):
    """The mean loss over fixed pieces of ``data``."""
    model.eval()
    state = torch.get_rng_state()
    torch.manual_seed(1)
    losses = [
        loss_of(model, *batch_of(data, 16, model.context)) for _ in range(batches)
    ]
    torch.set_rng_state(state)
    model.train()
    return torch.stack(losses).mean().item()


def train(model, data, held_out, steps, batch_size, peak):
    """AdamW with warm-up and a cosine; [(step, loss, held-out loss or None)]."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=peak, weight_decay=0.1)
    warm = max(1, steps // 20)

    def rate(step):
        if step < warm:
            return (step + 1) / warm
        return 0.05 + 0.475 * (1 + math.cos(math.pi * (step - warm) / (steps - warm)))

    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, rate)
    history = []
    progress = tqdm(range(steps), desc="training", unit="step")
    for step in progress:
        loss = loss_of(model, *batch_of(data, batch_size, model.context))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        unseen = None
        if (step + 1) % max(1, steps // 10) == 0:
            unseen = evaluate(model, held_out)
            progress.set_postfix(loss=f"{loss.item():.3f}", unseen=f"{unseen:.3f}")
        history.append((step, loss.item(), unseen))
    return history


@torch.no_grad()
def write(model, prompt, length, temperature=0.7):
    """(tokens, probability of each) that continue the tokens ``prompt``."""
    model.eval()
    tokens, chances = prompt.unsqueeze(0), []
    for _ in range(length):
        scores = model(tokens[:, -model.context :])[:, -1] / temperature
        chance = scores.softmax(-1)
        chosen = torch.multinomial(chance, 1)
        chances.append(chance[0, int(chosen)].item())
        tokens = torch.cat((tokens, chosen), 1)
    model.train()
    return tokens[0, len(prompt) :], chances


def curve(history, width=640, height=220):
    """The training loss as an SVG line, the held-out loss as dots."""
    top = max(loss for _, loss, _ in history)
    low = min(loss for _, loss, _ in history) * 0.9
    last = history[-1][0] or 1

    def place(step, loss):
        x = step / last * width
        y = (top - loss) / (top - low) * height
        return f"{x:.1f},{y:.1f}"

    line = " ".join(place(step, loss) for step, loss, _ in history)
    dots = "".join(
        f'<circle cx="{p.split(",")[0]}" cy="{p.split(",")[1]}" r="4"/>'
        for p in (place(s, unseen) for s, _, unseen in history if unseen is not None)
    )
    return (
        f'<svg viewBox="-10 -10 {width + 20} {height + 20}" width="{width}">'
        f'<polyline points="{line}" fill="none" stroke="#2678b2" stroke-width="1"/>'
        f'<g fill="#c22">{dots}</g></svg>'
    )


def write_page(path, history, prompt, text, chances):
    shaded = "".join(
        f'<span style="background:rgba(38,120,178,{0.6 * (1 - c):.2f})">'
        f"{html.escape(char)}</span>"
        for char, c in zip(text, chances, strict=True)
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        '<!doctype html><meta charset="utf-8"><title>A GPT that writes Python</title>'
        "<style>body{font:15px sans-serif;max-width:48em;margin:2em auto}"
        "pre{font-size:13px;line-height:1.4;white-space:pre-wrap}</style>"
        "<h1>A GPT that writes Python</h1><p>Line: training loss (nats per character). "
        "Dots: modules it has not seen.</p>"
        f"{curve(history)}<p>The darker a character, the less likely it was.</p>"
        f"<pre><b>{html.escape(prompt)}</b>{shaded}</pre>"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--length", type=int, default=700, help="characters to write")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--page", type=Path, default="demo-output/gpt.html")
    options = parser.parse_args()
    torch.manual_seed(options.seed)
    train_text, held_out_text = load_text()
    alphabet = sorted(set(train_text))
    number = {char: k for k, char in enumerate(alphabet)}
    data = torch.tensor([number[c] for c in train_text])
    held_out = torch.tensor([number[c] for c in held_out_text if c in number])
    model = GPT(len(alphabet))
    count = sum(p.numel() for p in model.parameters())
    print(f"{len(data):,} characters, {len(alphabet)} kinds; {count:,} parameters")
    print(f"held-out loss before {evaluate(model, held_out):.3f}")
    start = perf_counter()
    history = train(model, data, held_out, options.steps, options.batch, 3e-3)
    seconds = perf_counter() - start
    per_step = seconds / options.steps * 1e3
    print(f"training             {seconds:.1f} s, {per_step:.1f} ms a step")
    print(f"held-out loss after  {evaluate(model, held_out, 20):.3f}\n")
    prompt = "    def __init__(self, "
    tokens, chances = write(
        model, torch.tensor([number[c] for c in prompt]), options.length
    )
    text = "".join(alphabet[k] for k in tokens.tolist())
    print(prompt + text)
    write_page(options.page, history, prompt, text, chances)
    print(f"\npage                 {options.page}")


if __name__ == "__main__":
    main()
