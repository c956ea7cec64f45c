"""Trainings by Hugging Face's and Lightning's trainers, with the monitor as their callback."""

from __future__ import annotations

import torch

import prlx

STEPS, BAD = 9, 6


class Net(torch.nn.Module):
    """A regression; in one forward pass it takes the logarithm of something negative."""

    def __init__(self, bad: int) -> None:
        super().__init__()
        self.first, self.second = torch.nn.Linear(8, 16), torch.nn.Linear(16, 1)
        self.passes, self.bad = 0, bad

    def forward(self, x: torch.Tensor, labels: torch.Tensor | None = None) -> dict:
        hidden = self.first(x).sigmoid()
        if self.training and self.passes == self.bad:
            hidden = (hidden - 2).log()
        self.passes += self.training
        made = self.second(hidden)
        return {"loss": (made - labels).square().mean(), "logits": made}


def rows(count: int) -> list[dict]:
    """A data set."""
    generator = torch.Generator().manual_seed(3)
    x = torch.randn(count, 8, generator=generator)
    return [{"x": each, "labels": each[:1].clone()} for each in x]


def found(monitor: prlx.TrainingMonitor) -> dict:
    """What a monitor saw."""
    return {
        "anomalies": [[each.step, each.kind, each.maker] for each in monitor.anomalies],
        "text": repr(monitor),
        "running": monitor.running,
        "hooks": len(monitor.model._forward_hooks),
    }


def hugging_face(folder: str, bad: str, passes: str) -> dict:
    """Train with ``transformers.Trainer``; a step has so many passes."""
    from transformers import Trainer, TrainingArguments

    torch.manual_seed(0)
    net = Net(int(bad) * int(passes))
    how = TrainingArguments(
        output_dir=folder + "/out",
        max_steps=STEPS,
        per_device_train_batch_size=100,
        gradient_accumulation_steps=int(passes),
        use_cpu=True,
        report_to=[],
        save_strategy="no",
        disable_tqdm=True,
        dataloader_pin_memory=False,
    )
    monitor = prlx.TrainingMonitor(folder, ring=2, overwrite=True)
    Trainer(net, how, train_dataset=rows(2000), eval_dataset=rows(8), callbacks=[monitor.hugging_face()]).train()
    return found(monitor)


def lightning(folder: str, bad: str, passes: str) -> dict:
    """Train with Lightning's trainer; a step has so many passes."""
    import pytorch_lightning

    class Module(pytorch_lightning.LightningModule):
        """The net as Lightning wants it."""

        def __init__(self) -> None:
            super().__init__()
            self.net = Net(int(bad) * int(passes))

        def training_step(self, batch: dict, _number: int) -> torch.Tensor:
            return self.net(**batch)["loss"]

        def configure_optimizers(self) -> torch.optim.Optimizer:
            return torch.optim.AdamW(self.parameters(), lr=1e-3)

    torch.manual_seed(0)
    monitor = prlx.TrainingMonitor(folder, ring=2, overwrite=True)
    trainer = pytorch_lightning.Trainer(
        max_steps=STEPS,
        accelerator="cpu",
        accumulate_grad_batches=int(passes),
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        callbacks=[monitor.lightning()],
        default_root_dir=folder,
    )
    trainer.fit(Module(), torch.utils.data.DataLoader(rows(2000), batch_size=100))
    return found(monitor)
