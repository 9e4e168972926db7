"""A loop with accumulation, clipping and gathered metrics; weights spread over disk."""

import tempfile

import accelerate
import torch
from torch.utils.data import DataLoader, TensorDataset

for precision in ("no", "bf16"):
    accelerate.utils.set_seed(0)
    accelerator = accelerate.Accelerator(
        cpu=True, gradient_accumulation_steps=2, mixed_precision=precision
    )
    x = torch.randn(48, 6)
    data = DataLoader(TensorDataset(x, x.sum(1, keepdim=True)), 8, shuffle=True)
    model = torch.nn.Sequential(
        torch.nn.Linear(6, 12), torch.nn.GELU(), torch.nn.Linear(12, 1)
    )
    optimizer = torch.optim.AdamW(model.parameters(), 1e-2)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer)
    model, optimizer, data, schedule = accelerator.prepare(
        model, optimizer, data, schedule
    )
    losses = []
    for _ in range(3):
        for given, wanted in data:
            with accelerator.accumulate(model):
                loss = torch.nn.functional.mse_loss(model(given), wanted)
                accelerator.backward(loss)
                if accelerator.sync_gradients:
                    accelerator.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                schedule.step()
                optimizer.zero_grad()
                losses.append(accelerator.gather(loss.detach()).mean())
    print(precision, f"{torch.stack(losses)[-6:].mean():.3g}")
    with tempfile.TemporaryDirectory() as folder:
        accelerator.save_state(folder)
        accelerator.load_state(folder)
    accelerate.state.AcceleratorState._reset_state(True)

torch.manual_seed(0)
with accelerate.init_empty_weights():
    empty = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Linear(8, 2))
print("empty", empty[0].weight.device.type)
full = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Linear(8, 2))
with tempfile.TemporaryDirectory() as folder:
    torch.save(full.state_dict(), f"{folder}/model.bin")
    spread = accelerate.load_checkpoint_and_dispatch(
        empty, f"{folder}/model.bin", {"0": "cpu", "1": "disk"}, offload_folder=folder
    )
    print("spread", f"{spread(torch.ones(1, 8)).double().abs().sum():.4g}")
