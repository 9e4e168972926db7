"""A tiny encoder of sentences: embeddings, similarities, a fit with two losses."""

import tempfile
from pathlib import Path

import torch
from sentence_transformers import SentenceTransformer, losses, models
from transformers import BertConfig, BertModel, BertTokenizerFast

WORDS = ["the", "a", "cat", "dog", "sat", "ran", "on", "mat", "road", "fast", "slow"]
PAIRS = [("the cat sat", "a cat sat"), ("a dog ran fast", "the dog ran")]

torch.manual_seed(0)
with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    marks = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    (folder / "vocab.txt").write_text("\n".join(marks + WORDS))
    tokenizer = BertTokenizerFast(vocab_file=str(folder / "vocab.txt"))
    tokenizer.save_pretrained(folder)
    config = BertConfig(
        vocab_size=len(marks + WORDS),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=16,
    )
    BertModel(config).save_pretrained(folder)
    words = models.Transformer(name, max_seq_length=12)
    for mode in ("mean", "max", "cls"):
        pooling = models.Pooling(16, pooling_mode=mode)
        model = SentenceTransformer(modules=[words, pooling], device="cpu")
        model.eval()
        vectors = model.encode([a for a, _ in PAIRS], convert_to_tensor=True)
        close = model.similarity(vectors, vectors)
        print(mode, vectors.shape, f"{vectors.norm():.4g} {close[0, 1]:.4g}")
    for loss in (
        losses.MultipleNegativesRankingLoss(model),
        losses.CosineSimilarityLoss(model),
    ):
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
        sides = [model.tokenize(list(side)) for side in zip(*PAIRS, strict=True)]
        for step in range(3):
            value = loss(sides, torch.tensor([1.0, 0.5]))
            optimizer.zero_grad()
            value.backward()
            optimizer.step()
            print(type(loss).__name__, step, f"{value.item():.4g}")
