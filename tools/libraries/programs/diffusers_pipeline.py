"""A UNet and a VAE in training, steps of every kind of scheduler, a whole pipeline."""

import diffusers
import torch

torch.manual_seed(0)
unet = diffusers.UNet2DConditionModel(
    sample_size=16,
    block_out_channels=(16, 32),
    layers_per_block=1,
    down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"),
    up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
    cross_attention_dim=24,
    attention_head_dim=8,
    norm_num_groups=8,
)
vae = diffusers.AutoencoderKL(
    block_out_channels=(16, 32),
    down_block_types=("DownEncoderBlock2D",) * 2,
    up_block_types=("UpDecoderBlock2D",) * 2,
    norm_num_groups=8,
)
x, text = torch.randn(2, 4, 16, 16), torch.randn(2, 5, 24)
noise = unet(x, torch.tensor([3, 400]), text).sample
noise.square().mean().backward()
grads = [p.grad.norm() for p in unet.parameters() if p.grad is not None]
print("unet", f"{noise.double().abs().mean():.4g} {torch.stack(grads).mean():.4g}")
image = torch.rand(1, 3, 32, 32)
latent = vae.encode(image).latent_dist
back = vae.decode(latent.mode()).sample
(back.sub(image).square().mean() + 1e-3 * latent.kl().mean()).backward()
print("vae", f"{back.double().abs().mean():.4g} {latent.kl().item():.4g}")

NAMES = ("DDPM", "DDIM", "PNDM", "LMSDiscrete", "EulerDiscrete", "HeunDiscrete")
NAMES += ("EulerAncestralDiscrete", "DPMSolverMultistep", "DPMSolverSinglestep")
NAMES += ("UniPCMultistep", "DEISMultistep", "KDPM2Discrete", "LCM", "DPMSolverSDE")
for name in NAMES:
    if name == "DPMSolverSDE":
        continue  # needs a further library
    torch.manual_seed(1)
    scheduler = getattr(diffusers, f"{name}Scheduler")()
    scheduler.set_timesteps(6)
    sample = torch.randn(1, 4, 8, 8) * scheduler.init_noise_sigma
    for t in scheduler.timesteps:
        given = scheduler.scale_model_input(sample, t)
        sample = scheduler.step(0.1 * given.sin(), t, sample).prev_sample
    print(name, f"{sample.double().abs().mean():.4g}")

torch.manual_seed(2)
small = diffusers.UNet2DModel(
    sample_size=8,
    block_out_channels=(16, 32),
    layers_per_block=1,
    down_block_types=("DownBlock2D", "AttnDownBlock2D"),
    up_block_types=("AttnUpBlock2D", "UpBlock2D"),
    norm_num_groups=8,
)
pipeline = diffusers.DDIMPipeline(small, diffusers.DDIMScheduler())
pipeline.set_progress_bar_config(disable=True)
made = pipeline(generator=torch.manual_seed(3), num_inference_steps=4, output_type="np")
print("pipeline", f"{made.images.astype('f8').mean():.4g}")
