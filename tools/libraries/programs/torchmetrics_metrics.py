"""Metrics of several tasks, accumulated over batches."""

import torch
import torchmetrics
from torchmetrics import classification, image, regression, retrieval, text

torch.manual_seed(0)
scores, classes = torch.randn(40, 5).softmax(-1), torch.randint(0, 5, (40,))
METRICS = {
    "accuracy": classification.MulticlassAccuracy(5),
    "auroc": classification.MulticlassAUROC(5, thresholds=None),
    "f1": classification.MulticlassF1Score(5),
    "calibration": classification.MulticlassCalibrationError(5),
    "kappa": classification.MulticlassCohenKappa(5),
    "matthews": classification.MulticlassMatthewsCorrCoef(5),
    "precision": classification.MulticlassAveragePrecision(5),
}
for name, metric in METRICS.items():
    for rows in torch.arange(40).chunk(4):
        metric.update(scores[rows], classes[rows])
    print(name, f"{metric.compute():.4g}")
x, y = torch.randn(30), torch.randn(30)
for metric in (regression.PearsonCorrCoef(), regression.SpearmanCorrCoef()):
    print(type(metric).__name__, f"{metric(x, y):.4g}")
print("r2", f"{regression.R2Score()(x, x + 0.1 * y):.4g}")
pictures = torch.rand(2, 3, 48, 48)
noisy = (pictures + 0.1 * torch.rand(2, 3, 48, 48)).clamp(0, 1)
for metric in (
    image.PeakSignalNoiseRatio(data_range=1.0),
    image.StructuralSimilarityIndexMeasure(data_range=1.0),
    image.TotalVariation(),
):
    given = (noisy, pictures) if "Variation" not in type(metric).__name__ else (noisy,)
    print(type(metric).__name__, f"{metric(*given):.4g}")
groups = torch.arange(40) // 8
ranked = retrieval.RetrievalNormalizedDCG()
print("ndcg", f"{ranked(scores[:, 0], classes == 0, indexes=groups):.4g}")
print("words", f"{text.WordErrorRate()(['a b c'], ['a c c d']):.4g}")
both = torchmetrics.MetricCollection(
    [classification.MulticlassPrecision(5), classification.MulticlassRecall(5)]
)
for name, value in both(scores, classes).items():
    print(name, f"{value:.4g}")
