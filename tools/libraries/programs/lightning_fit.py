"""A run of the Trainer: fit, validate, test, predict, a checkpoint, bf16-mixed."""

import logging
import tempfile

import lightning
import torch
from lightning.pytorch.callbacks import EarlyStopping, ModelCheckpoint
from torch.utils.data import DataLoader, TensorDataset

logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)


class Classifier(lightning.LightningModule):
    """Two layers with dropout, and a schedule of the learning rate."""

    def __init__(self, width=16, rate=1e-2):
        super().__init__()
        self.save_hyperparameters()
        layers = torch.nn.Linear(8, width), torch.nn.ReLU(), torch.nn.Dropout(0.1)
        self.body = torch.nn.Sequential(*layers, torch.nn.Linear(width, 3))

    def forward(self, x):
        return self.body(x)

    def _loss(self, batch, name):
        loss = torch.nn.functional.cross_entropy(self(batch[0]), batch[1])
        self.log(name, loss, prog_bar=False)
        return loss

    def training_step(self, batch, _):
        return self._loss(batch, "loss")

    def validation_step(self, batch, _):
        return self._loss(batch, "val")

    def test_step(self, batch, _):
        return self._loss(batch, "test")

    def configure_optimizers(self):
        optimizer = torch.optim.AdamW(self.parameters(), self.hparams.rate)
        return [optimizer], [torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 4)]


lightning.seed_everything(0, verbose=False)
x = torch.randn(96, 8)
data = TensorDataset(x, (x[:, 0] > 0).long() + (x[:, 1] > 1).long())
shuffled, ordered = DataLoader(data, 16, shuffle=True), DataLoader(data, 32)
quiet = {"enable_progress_bar": False, "enable_model_summary": False, "logger": False}
for precision in ("32-true", "bf16-mixed", "64-true"):
    lightning.seed_everything(1, verbose=False)
    with tempfile.TemporaryDirectory() as folder:
        best = ModelCheckpoint(folder, monitor="val")
        trainer = lightning.Trainer(
            max_epochs=3,
            accelerator="cpu",
            precision=precision,
            gradient_clip_val=0.5,
            accumulate_grad_batches=2,
            callbacks=[best, EarlyStopping("val", patience=5)],
            **quiet,
        )
        model = Classifier()
        trainer.fit(model, shuffled, ordered)
        value = trainer.callback_metrics["val"].item()
        print(precision, "validation", f"{value:.3g}")
        loaded = Classifier.load_from_checkpoint(best.best_model_path)
        found = trainer.test(loaded, ordered, verbose=False)
        print(precision, "test", f"{found[0]['test']:.3g}")
        given = trainer.predict(loaded, DataLoader(x, 32))
        print(precision, "predict", f"{torch.cat(given).double().abs().mean():.2g}")
