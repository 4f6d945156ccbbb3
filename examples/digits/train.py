"""Trains a small network on the digits with torch DDP: an ordinary script, plus ``training_run``."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import numpy as np
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import goldenpath

HERE = Path(__file__).parent


def load(folder: Path) -> tuple[torch.Tensor, torch.Tensor]:
    """Pixels between 0 and 1 (rows x 64), and labels."""
    rows = np.loadtxt(folder / "digits.csv", delimiter=",", skiprows=1)
    return torch.tensor(rows[:, :-1] / 16, dtype=torch.float32), torch.tensor(rows[:, -1], dtype=torch.long)


def network(hidden: int) -> nn.Module:
    """One hidden layer."""
    return nn.Sequential(nn.Linear(64, hidden), nn.ReLU(), nn.Linear(hidden, 10))


def save(model: nn.Module, folder: Path, example: np.ndarray, fault: str) -> None:
    """Writes the model as an MLflow pyfunc whose inference needs numpy alone."""
    import mlflow  # here, because it takes seconds and only rank 0 comes to it

    weights = {name: value.numpy() for name, value in model.state_dict().items()}
    with tempfile.TemporaryDirectory() as scratch:
        np.savez(Path(scratch) / "weights.npz", fault=np.array(fault), **weights)
        mlflow.pyfunc.save_model(
            folder,
            python_model=str(HERE / "digits_model.py"),
            artifacts={"weights": str(Path(scratch) / "weights.npz")},
            pip_requirements=["mlflow", "numpy"],
            input_example=example,
        )


def main() -> None:
    """Trains, with a checkpoint every few epochs, and publishes the model from rank 0."""
    with goldenpath.training_run() as run:
        dist.init_process_group("gloo")
        params = {"hidden": 64, "epochs": 40, "rate": 0.01, "fault": "", **run.params}
        torch.manual_seed(0)
        pixels, labels = load(run.dataset("train"))
        mine = slice(run.rank, None, run.world_size)
        model = DistributedDataParallel(network(params["hidden"]))
        optimiser = torch.optim.Adam(model.parameters(), lr=params["rate"])
        checkpointer = run.checkpointer()
        state = {"model": model.module.state_dict(), "optimiser": optimiser.state_dict(), "epoch": 0}
        restored = checkpointer.restore()
        if restored is not None:
            state = restored.state
            model.module.load_state_dict(state["model"])
            optimiser.load_state_dict(state["optimiser"])
        for epoch in range(state["epoch"], params["epochs"]):
            # The order depends on the epoch alone, so that a resumed run sees what an undisturbed one would.
            order = torch.randperm(len(pixels[mine]), generator=torch.Generator().manual_seed(epoch))
            for batch in order.split(32):
                optimiser.zero_grad()
                loss = nn.functional.cross_entropy(model(pixels[mine][batch]), labels[mine][batch])
                loss.backward()
                optimiser.step()
            run.progress(step=epoch + 1, total=params["epochs"], loss=loss.item())
            stop = run.should_stop
            if (epoch + 1) % 5 == 0 or stop:
                state = {
                    "model": model.module.state_dict(),
                    "optimiser": optimiser.state_dict(),
                    "epoch": epoch + 1,
                }
                checkpointer.save(epoch + 1, state, metrics={"loss": loss.item()})
            if stop:
                return
        folder = Path(tempfile.mkdtemp()) / "model"
        if run.rank == 0:
            save(model.module, folder, pixels[:1].numpy(), params["fault"])
        run.publish_model(folder, metrics={"loss": loss.item()})
        shutil.rmtree(folder.parent)


if __name__ == "__main__":
    main()
