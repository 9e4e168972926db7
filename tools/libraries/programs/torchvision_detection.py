"""A training step and inference of a detector, and of a network for segmentation."""

import torch
from torchvision.models import detection, segmentation

torch.manual_seed(0)
made = {"weights": None, "weights_backbone": None, "num_classes": 5}
model = detection.fasterrcnn_mobilenet_v3_large_320_fpn(**made)
images = [torch.rand(3, 80, 96), torch.rand(3, 72, 64)]
boxes = torch.tensor([[5, 5, 40, 40], [20, 10, 60, 50.0]])
targets = [{"boxes": boxes + k, "labels": torch.tensor([1, 2])} for k in range(2)]
losses = model(images, targets)
sum(losses.values()).backward()
for name, value in losses.items():
    print(name, f"{value.item():.3g}")

torch.manual_seed(0)
network = segmentation.lraspp_mobilenet_v3_large(**made)
scores = network(torch.randn(2, 3, 64, 64))["out"]
loss = torch.nn.functional.cross_entropy(scores, torch.randint(0, 5, (2, 64, 64)))
loss.backward()
print("segmentation", f"{loss.item():.4g}")
