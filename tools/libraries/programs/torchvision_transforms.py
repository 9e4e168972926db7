"""Transforms of both versions, ops on boxes, datasets, features by name, drawing."""

import torch
from torch.utils.data import DataLoader
from torchvision import datasets, models, ops, transforms, tv_tensors, utils
from torchvision.models.feature_extraction import create_feature_extractor
from torchvision.transforms import v2

torch.manual_seed(0)
image = torch.randint(0, 256, (3, 40, 48), dtype=torch.uint8)
FIRST = {
    "crop": transforms.RandomResizedCrop(24, antialias=True),
    "affine": transforms.RandomAffine(20, (0.1, 0.1), (0.8, 1.2), 5),
    "jitter": transforms.ColorJitter(0.4, 0.4, 0.4, 0.1),
    "perspective": transforms.RandomPerspective(p=1.0),
    "blur": transforms.GaussianBlur(5),
    "augment": transforms.RandAugment(),
    "trivial": transforms.TrivialAugmentWide(),
    "mix": transforms.AugMix(),
}
SECOND = {
    "resize": v2.Resize(20, antialias=True),
    "rotation": v2.RandomRotation(30, v2.InterpolationMode.BILINEAR),
    "elastic": v2.ElasticTransform(20.0),
    "photometric": v2.RandomPhotometricDistort(p=1.0),
    "posterize": v2.RandomPosterize(3, p=1.0),
    "equalize": v2.RandomEqualize(p=1.0),
    "zoom": v2.RandomZoomOut(p=1.0),
    "grayscale": v2.Grayscale(3),
    "jpeg": v2.ToDtype(torch.float32, scale=True),
}
for name, transform in {**FIRST, **SECOND}.items():
    torch.manual_seed(1)
    found = transform(image).double()
    print(name, tuple(found.shape), f"{found.mean():.4g} {found.std():.4g}")

boxes = tv_tensors.BoundingBoxes(
    [[3, 4, 20, 30], [10, 8, 40, 36]], format="XYXY", canvas_size=(40, 48)
)
both = v2.Compose([v2.RandomHorizontalFlip(1.0), v2.Resize(20), v2.RandomCrop(18)])
torch.manual_seed(2)
print("boxes", both({"image": tv_tensors.Image(image), "boxes": boxes})["boxes"])
corners = torch.rand(12, 2) * 20
corners = torch.cat((corners, corners + 1 + torch.rand(12, 2) * 20), 1)
print("iou", f"{ops.generalized_box_iou(corners, corners).mean():.4g}")
print("nms", ops.batched_nms(corners, torch.rand(12), torch.arange(12) % 3, 0.3))
print("focal", f"{ops.sigmoid_focal_loss(corners, (corners > 9).float()).mean():.4g}")

data = datasets.FakeData(8, (3, 16, 16), 4, transforms.ToTensor())
total = sum(x.double().mean() * (y + 1).sum() for x, y in DataLoader(data, 4))
print("dataset", f"{total:.5g}")
torch.manual_seed(3)
taken = create_feature_extractor(models.resnet18(), ["layer1.0.relu", "layer3"])
for name, value in taken(torch.randn(1, 3, 32, 32)).items():
    print(name, tuple(value.shape), f"{value.double().mean():.4g}")
drawn = utils.draw_bounding_boxes(image, boxes, colors="red", width=2)
print("drawn", f"{drawn.double().mean():.5g}")
grid = utils.make_grid(image.float().repeat(5, 1, 1, 1), nrow=3, normalize=True)
print("grid", tuple(grid.shape), f"{grid.double().mean():.5g}")
