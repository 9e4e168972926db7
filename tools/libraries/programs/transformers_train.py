"""The Trainer on a small encoder and a small decoder; models of other families."""

import tempfile

import torch
import transformers
from transformers import Trainer, TrainingArguments, set_seed

transformers.logging.set_verbosity_error()
sizes = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2}
sizes |= {"num_attention_heads": 4, "vocab_size": 64}
CONFIGS = {
    "bert": (transformers.BertForSequenceClassification, transformers.BertConfig),
    "gpt_neox": (transformers.GPTNeoXForCausalLM, transformers.GPTNeoXConfig),
    "deberta": (
        transformers.DebertaV2ForSequenceClassification,
        transformers.DebertaV2Config,
    ),
}


class Rows(torch.utils.data.Dataset):
    """Made tokens, with a class or themselves as labels."""

    def __init__(self, classes):
        made = torch.Generator().manual_seed(3)
        self.rows = torch.randint(0, 64, (24, 12), generator=made)
        self.classes = classes

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, k):
        row = self.rows[k]
        return {"input_ids": row, "labels": row[0] % 2 if self.classes else row}


for name, (model_class, config_class) in CONFIGS.items():
    set_seed(0)
    model = model_class(config_class(**sizes))
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            folder,
            num_train_epochs=2,
            per_device_train_batch_size=8,
            learning_rate=1e-3,
            warmup_steps=2,
            logging_steps=2,
            save_strategy="epoch",
            report_to=[],
            use_cpu=True,
            disable_tqdm=True,
            max_grad_norm=1.0,
        )
        data = Rows("Sequence" in model_class.__name__)
        trainer = Trainer(model, arguments, train_dataset=data, eval_dataset=data)
        trainer.log = lambda logs, *_: None
        found = trainer.train()
        print(name, "loss", f"{found.training_loss:.4g}")
        print(name, "evaluated", f"{trainer.evaluate()['eval_loss']:.4g}")
        trainer.save_model(folder)
        loaded = model_class.from_pretrained(folder).eval()
        with torch.no_grad():
            logits = loaded(data.rows[:4]).logits
        print(name, "loaded", f"{logits.double().abs().mean():.4g}")
