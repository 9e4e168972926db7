"""Decoders with the library's many options, and text from one of them."""

import torch
from x_transformers import AutoregressiveWrapper, Decoder, TransformerWrapper

OPTIONS = (
    {},
    {"attn_flash": True},
    {"rotary_pos_emb": True},
    {"alibi_pos_bias": True},
    {"rel_pos_bias": True},
    {"use_rmsnorm": True, "ff_glu": True, "ff_swish": True},
    {"attn_kv_heads": 2},
    {"attn_num_mem_kv": 4},
    {"sandwich_norm": True},
    {"macaron": True},
    {"attn_qk_norm": True},
    {"gate_residual": True},
    {"shift_tokens": 1},
    {"attn_sparse_topk": 4},
    {"residual_attn": True},
    {"dynamic_pos_bias": True},
    {"ff_relu_squared": True, "attn_one_kv_head": True},
)


def decoder(**options):
    layers = Decoder(dim=32, depth=2, heads=4, **options)
    return TransformerWrapper(num_tokens=64, max_seq_len=32, attn_layers=layers)


for options in OPTIONS:
    torch.manual_seed(1)
    model = decoder(**options)
    tokens = torch.randint(0, 64, (2, 32))
    scores = model(tokens).transpose(1, 2)
    loss = torch.nn.functional.cross_entropy(scores, tokens)
    loss.backward()
    grads = [p.grad for p in model.parameters() if p.grad is not None]
    size = sum(grad.double().abs().sum() for grad in grads)
    print(*options, f"{loss.item():.4g} {size.item():.4g}")
torch.manual_seed(2)
model = AutoregressiveWrapper(decoder())
print("greedy", model.generate(torch.ones(1, 1).long(), 10, temperature=0.0).tolist())
