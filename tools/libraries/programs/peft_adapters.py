"""Adapters on a small model: a step, merging, a file and back."""

import tempfile

import peft
import torch
from transformers import LlamaConfig, LlamaForCausalLM

sizes = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2}
heads = {"num_attention_heads": 4, "num_key_value_heads": 2}
names = ["q_proj", "v_proj"]
CONFIGS = {
    "lora": peft.LoraConfig(r=4, target_modules=names),
    "rslora": peft.LoraConfig(r=4, target_modules=names, use_rslora=True),
    "dora": peft.LoraConfig(r=4, target_modules=names, use_dora=True),
    "ia3": peft.IA3Config(target_modules=names, feedforward_modules=[]),
    "loha": peft.LoHaConfig(r=4, target_modules=names),
    "lokr": peft.LoKrConfig(r=4, target_modules=names),
    "oft": peft.OFTConfig(r=4, oft_block_size=0, target_modules=names),
    "boft": peft.BOFTConfig(boft_block_size=4, target_modules=names),
    "vera": peft.VeraConfig(r=4, target_modules=["q_proj"]),
    "fourier": peft.FourierFTConfig(n_frequency=20, target_modules=names),
    "prefix": peft.PrefixTuningConfig(task_type="CAUSAL_LM", num_virtual_tokens=3),
    "prompt": peft.PromptTuningConfig(task_type="CAUSAL_LM", num_virtual_tokens=3),
}
for name, config in CONFIGS.items():
    torch.manual_seed(0)
    base = LlamaForCausalLM(LlamaConfig(vocab_size=64, **sizes, **heads))
    model = peft.get_peft_model(base, config)
    tokens = torch.randint(0, 64, (2, 9))
    optimizer = torch.optim.AdamW(
        [p for p in model.parameters() if p.requires_grad], 1e-2
    )
    for _ in range(3):
        loss = model(tokens, labels=tokens).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        before = model(tokens).logits.double()
        with tempfile.TemporaryDirectory() as folder:
            model.save_pretrained(folder)
            torch.manual_seed(0)
            again = LlamaForCausalLM(LlamaConfig(vocab_size=64, **sizes, **heads))
            loaded = peft.PeftModel.from_pretrained(again, folder).eval()
            apart = (loaded(tokens).logits - before).abs().max().item() > 1e-4
    print(name, f"{loss.item():.4g} {before.abs().mean():.4g}", apart)
