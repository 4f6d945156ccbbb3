"""The first task of the KFP pipeline.

In a file of its own without postponed annotations: KFP ships the function's source and reads its types.
"""

from typing import Optional

from kfp import dsl

from goldenpath.steps.task import IMAGE


@dsl.component(base_image=IMAGE, install_kfp_package=False)
def begin(
    model: str,
    service: str,
    source: str,
    source_options: dict,
    data: dict,
    training: dict,
    evaluation: dict,
    held_out: str,
    gate: dict,
    promotion: Optional[dict] = None,  # noqa: UP045  (KFP reads no other spelling)
) -> str:
    """Checks the run's inputs before anything is read, and records the run.

    Args:
        model: The registered model's name.
        service: The service's name; empty for the model's.
        source: The folder with the user's code.
        source_options: What the snapshot of the code leaves out.
        data: For each dataset its source, name and options.
        training: The training job.
        evaluation: The evaluator.
        held_out: The key of the dataset that the evaluator is given.
        gate: The rules of the gate.
        promotion: How the model is brought into service.

    Returns:
        The service's name.
    """
    from goldenpath.pipelines.train_to_serve.begin import begin as work

    return work(
        model=model,
        service=service,
        source=source,
        source_options=source_options,
        data=data,
        training=training,
        evaluation=evaluation,
        held_out=held_out,
        gate=gate,
        promotion=promotion,
    )
