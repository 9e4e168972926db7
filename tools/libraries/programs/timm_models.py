"""A training step of image models, the smallest of several families."""

import timm
import torch

NAMES = (
    *("resnet10t", "mobilenetv3_small_050", "efficientnet_lite0", "ghostnet_050"),
    *(
        "convnext_atto",
        "vit_tiny_patch16_224",
        "deit_tiny_patch16_224",
        "mixer_s32_224",
    ),
    *("edgenext_xx_small", "mobilevit_xxs", "regnetx_002", "tinynet_e", "lcnet_035"),
    *(
        "repvgg_a0",
        "fastvit_t8",
        "levit_128s",
        "xcit_nano_12_p16_224",
        "poolformer_s12",
    ),
)

for name in NAMES:
    torch.manual_seed(0)
    model = timm.create_model(name, num_classes=7)
    x = torch.randn(2, *model.default_cfg["input_size"])
    loss = torch.nn.functional.cross_entropy(model(x), torch.tensor([1, 2]))
    loss.backward()
    print(name, f"{loss.item():.4g}")
