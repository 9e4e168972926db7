"""Medical images: networks with volumes, losses, transforms, sliding windows."""

import warnings

import torch
from monai import losses, transforms
from monai.inferers import sliding_window_inference
from monai.metrics import DiceMetric
from monai.networks import nets

warnings.simplefilter("ignore")
torch.manual_seed(0)
volume = torch.randn(1, 1, 32, 32, 32)
OF_VOLUMES = {"spatial_dims": 3, "in_channels": 1, "out_channels": 2}
NETWORKS = {
    "UNet": lambda: nets.UNet(**OF_VOLUMES, channels=(4, 8, 16), strides=(2, 2)),
    "SegResNet": lambda: nets.SegResNet(**OF_VOLUMES, init_filters=8),
    "AttentionUnet": lambda: nets.AttentionUnet(
        **OF_VOLUMES, channels=(4, 8), strides=(2,)
    ),
    "BasicUNet": lambda: nets.BasicUNet(**OF_VOLUMES, features=(4, 4, 8, 8, 16, 4)),
    "VNet": lambda: nets.VNet(**OF_VOLUMES),
    "HighResNet": lambda: nets.HighResNet(**OF_VOLUMES),
}
for name, make in NETWORKS.items():
    torch.manual_seed(1)
    network = make()
    loss = losses.DiceCELoss(to_onehot_y=True, softmax=True)(
        network(volume), (volume > 0).float()
    )
    loss.backward()
    grads = (p.grad.double().abs().sum() for p in network.parameters())
    print(name, f"{loss.item():.4g} {sum(grads).item():.4g}")
scores, labels = torch.randn(2, 3, 8, 8), torch.randint(0, 3, (2, 1, 8, 8))
for kind in (losses.DiceLoss, losses.TverskyLoss, losses.GeneralizedDiceLoss):
    value = kind(to_onehot_y=True, softmax=True)(scores, labels)
    print(kind.__name__, f"{value.item():.4g}")
image = torch.rand(1, 16, 16)
for transform in (
    transforms.ScaleIntensity(),
    transforms.Resize((8, 8)),
    transforms.Rotate(0.3),
    transforms.Zoom(1.3),
    transforms.GaussianSmooth(1.0),
    transforms.MedianSmooth(1),
    transforms.RandAffine(prob=1, rotate_range=0.3).set_random_state(0),
):
    changed = transform(image)
    size = float(changed.sum())
    print(type(transform).__name__, tuple(changed.shape), f"{size:.5g}")
layer = torch.nn.Conv2d(1, 2, 3, padding=1)
found = sliding_window_inference(
    torch.rand(1, 1, 40, 40), (16, 16), 2, layer, overlap=0.25, mode="gaussian"
)
metric = DiceMetric()
metric((found > 0).float(), (found > 0.1).float())
print("windows", f"{found.double().norm().item():.4g} {metric.aggregate().item():.4g}")
