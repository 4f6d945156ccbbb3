"""The layout of a store: every key is made here, and nowhere else.

    objects/sha256/<hh>/<hex>   manifests/sha256/<hex>          content-addressed
    refs/datasets/<name>/<n>.json   refs/models/<name>/<n>.json create-only: the commits
    refs/aliases/<model>/<epoch>.json                           create-only: the highest epoch holds
    checkpoints/<run>/<attempt>/…   refs/checkpoints/<run>/<step>.json
    models/<name>/sha256-<hex>/…                                plain files, as model servers read them
    runs/<run>/run.json   runs/<run>/outcome.json
    runs/<run>/steps/<step>/{started-<attempt>,failed-<attempt>,result}.json
    keys/<step-key>/<run>.json   index/<kind>/<id>/<run>
    rollouts/<service>/<n>.json                                 create-only: how a rollout ended
    rollouts/<service>/<n>/<transition>.json                    create-only: its way there, and its samples

Numbers are padded to ten digits, so that keys sort as numbers do.
"""

from __future__ import annotations

from goldenpath.refs import Kind


def padded(number: int) -> str:
    """A number as keys hold it."""
    return f"{number:010d}"


def object_(hex_digest: str) -> str:
    """A content-addressed object: a pack, a block, a shard, rows."""
    return f"objects/sha256/{hex_digest[:2]}/{hex_digest}"


def manifest(hex_digest: str) -> str:
    """A content-addressed document."""
    return f"manifests/sha256/{hex_digest}"


def refs(kind: Kind, name: str) -> str:
    """The folder of all commits of a name."""
    return f"refs/{kind.value}/{name}/"


def ref(kind: Kind, name: str, number: int) -> str:
    """The create-only commit of one number."""
    return f"{refs(kind, name)}{padded(number)}.json"


def number_of(key: str) -> int:
    """The number in the last part of a key that ``ref``, ``alias_epoch`` or ``rollout`` made."""
    return int(key.rpartition("/")[2].removesuffix(".json"))


def alias_epochs(model: str) -> str:
    """The folder of a model's alias epochs."""
    return f"refs/aliases/{model}/"


def alias_epoch(model: str, epoch: int) -> str:
    """One epoch of a model's aliases; create-only."""
    return f"{alias_epochs(model)}{padded(epoch)}.json"


def model_files(name: str, hex_digest: str) -> str:
    """The folder of a model's published files."""
    return f"{Kind.MODELS.value}/{name}/sha256-{hex_digest}/"


def checkpoint_files(run: str, attempt: str) -> str:
    """The folder where one attempt writes its checkpoints."""
    return f"{Kind.CHECKPOINTS.value}/{run}/{attempt}/"


def run(run: str) -> str:
    """The record of a run."""
    return f"runs/{run}/run.json"


def outcome(run: str) -> str:
    """The record of a run's end."""
    return f"runs/{run}/outcome.json"


def steps(run: str) -> str:
    """The folder of a run's steps."""
    return f"runs/{run}/steps/"


def step_folder(run: str, step: str) -> str:
    """The folder of one step: its records, logs and outputs."""
    return f"{steps(run)}{step}/"


def step_started(run: str, step: str, attempt: str) -> str:
    """The mark of one attempt at a step."""
    return f"{step_folder(run, step)}started-{attempt}.json"


def step_failed(run: str, step: str, attempt: str) -> str:
    """Why one attempt at a step failed; a later attempt may still succeed."""
    return f"{step_folder(run, step)}failed-{attempt}.json"


def step_result(run: str, step: str) -> str:
    """The create-only result of a step."""
    return f"{step_folder(run, step)}result.json"


def step_keys(key: str) -> str:
    """The folder of the runs that did the work of a step key."""
    return f"keys/{key}/"


def step_key(key: str, run: str) -> str:
    """The mark that a run did the work of a step key."""
    return f"{step_keys(key)}{run}.json"


def index(kind: str, id_: str) -> str:
    """The folder of the runs that touched one dataset, model, commit, service or configuration."""
    return f"index/{kind}/{id_}/"


def rollouts(service: str) -> str:
    """The folder of a service's rollouts."""
    return f"rollouts/{service}/"


def rollout(service: str, number: int) -> str:
    """One rollout of a service."""
    return f"{rollouts(service)}{padded(number)}.json"


def rollout_folder(service: str, number: int) -> str:
    """The folder of one rollout's transitions and samples."""
    return f"{rollouts(service)}{padded(number)}/"


def rollout_transition(service: str, number: int, sequence: int) -> str:
    """One transition of a rollout; create-only. The first opens the rollout."""
    return f"{rollout_folder(service, number)}{padded(sequence)}.json"
