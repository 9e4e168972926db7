"""Every mode of decoding of a small language model."""

import torch
from transformers import LlamaConfig, LlamaForCausalLM

MODES = (
    {"do_sample": False},
    {"do_sample": True, "top_k": 10, "temperature": 0.8},
    {"do_sample": True, "top_p": 0.9},
    {"do_sample": True, "min_p": 0.1, "typical_p": 0.9},
    {"num_beams": 3},
    {"num_beams": 2, "do_sample": True},
    {"num_beams": 4, "length_penalty": 0.5, "num_return_sequences": 2},
    {"repetition_penalty": 1.3},
    {"no_repeat_ngram_size": 2},
    {"cache_implementation": "static"},
    {"cache_implementation": "dynamic"},
    {"use_cache": False},
)

torch.manual_seed(0)
sizes = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2}
heads = {"num_attention_heads": 4, "num_key_value_heads": 2}
model = LlamaForCausalLM(LlamaConfig(vocab_size=64, **sizes, **heads)).eval()
prompt = torch.randint(0, 64, (2, 7))
for mode in MODES:
    torch.manual_seed(1)
    found = model.generate(prompt, max_new_tokens=8, pad_token_id=0, **mode)
    print(mode, found.tolist())
