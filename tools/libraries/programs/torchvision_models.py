"""A training step and inference of classifiers, one of each family."""

import torch
from torchvision import models

NAMES = (
    *("alexnet", "vgg11", "resnet18", "squeezenet1_1", "densenet121", "googlenet"),
    *("shufflenet_v2_x0_5", "mobilenet_v3_small", "mnasnet0_5", "efficientnet_b0"),
    *("regnet_y_400mf", "convnext_tiny", "vit_b_16", "swin_t", "swin_v2_t"),
)
SIZES = {"vit_b_16": 224, "alexnet": 96, "googlenet": 96}

for name in NAMES:
    torch.manual_seed(0)
    options = {"init_weights": True} if name == "googlenet" else {}
    model = models.get_model(name, num_classes=10, **options)
    x = torch.randn(2, 3, SIZES.get(name, 64), SIZES.get(name, 64))
    out = model(x)
    out = out[0] if isinstance(out, tuple) else out
    loss = torch.nn.functional.cross_entropy(out, torch.tensor([1, 2]))
    loss.backward()
    with torch.no_grad():
        inferred = model.eval()(x).double().abs().sum()
    print(name, f"{loss.item():.4g}", f"{inferred.item():.4g}")
