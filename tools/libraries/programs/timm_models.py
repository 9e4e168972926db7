"""A training step of image models: a small one of each family."""

import timm
import torch

NAMES = """
    beit_base_patch16_224 eca_halonext26ts test_byobnet cait_xxs24_224 coat_tiny
    convit_tiny test_convnext cpubone_nano crossvit_tiny_240 cs3darknet_focus_s
    cspnext_tiny deit_tiny_patch16_224 densenet121 dla34 dpn68 edgenext_xx_small
    efficientformer_l1 efficientformerv2_s0 test_efficientnet efficientvim_m1
    efficientvit_b0 efficientvit_m0 vit_tiny_patch16_dinov3_qkvb fasternet_t0
    fastvit_t8 gcvit_xxtiny ghostnet_050 hardcorenas_b hgnetv2_b0
    hrnet_w18_small inception_next_atto levit_128s mambaout_femto
    mixer_s32_224 test_mobilenetv3 mobilevit_xxs mvitv2_tiny test_nfnet pit_ti_224
    poolformer_s12 pvt_v2_b0 regnetx_002 repghostnet_050 repvit_m0_9 res2net50_14w_8s
    resnest14d test_resnet resnetv2_18 rexnet_100 selecsls42 legacy_seresnet18
    sequencer2d_s shvit_s1 skresnet18 starnet_s050 swiftformer_xs swinv2_cr_tiny_ns_224
    tiny_vit_5m_224 twins_svt_small visformer_tiny test_vit vitamin_small_224
    ese_vovnet19b_slim xcit_nano_12_p16_224
"""

for name in NAMES.split():
    torch.manual_seed(0)
    model = timm.create_model(name, num_classes=7)
    x = torch.randn(2, *model.default_cfg["input_size"])
    loss = torch.nn.functional.cross_entropy(model(x), torch.tensor([1, 2]))
    loss.backward()
    grads = [p.grad for p in model.parameters() if p.grad is not None]
    size = sum(g.double().square().sum() for g in grads).sqrt()
    print(name, f"{loss.item():.4g}", f"{size.item():.4g}", flush=True)
