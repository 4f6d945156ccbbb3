"""The layout of a store: every key is made here, and nowhere else.

    objects/sha256/<hh>/<hex>   manifests/sha256/<hex>          content-addressed
    refs/datasets/<name>/<n>.json   refs/models/<name>/<n>.json create-only: the commits
    refs/aliases/<model>/<epoch>.json                           create-only: the highest epoch holds
    checkpoints/<run>/<attempt>/…   refs/checkpoints/<run>/<step>.json
    models/<name>/sha256-<hex>/…                                plain files, as model servers read them
    runs/<run>/run.json   runs/<run>/outcome.json   runs/<run>/checkpointing.json
    runs/<run>/steps/<step>/{started-<attempt>,failed-<attempt>,result}.json
    runs/<run>/steps/<step>/output/<name>.json   runs/<run>/steps/<step>/logs/<start>.log
    keys/<step-key>/<run>.json   index/<kind>/<id>/<run>
    rollouts/<service>/<n>.json                                 create-only: how a rollout ended
    rollouts/<service>/<n>/<transition>.json                    create-only: its way there, and its samples
    tags/datasets/<name>/<tag>.json                             create-only
    gc/<attempt>.json   probes/conditional-put

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
    return f"{checkpoint_attempts(run)}{attempt}/"


def checkpoint_attempts(run: str) -> str:
    """The folder of all attempts that wrote checkpoints of a run."""
    return f"{Kind.CHECKPOINTS.value}/{run}/"


def checkpoint_object(run: str, attempt: str, step: int, rank: int, index: int) -> str:
    """One object of one rank's part of a checkpoint."""
    return f"{checkpoint_files(run, attempt)}{padded(step)}/{rank:05d}-{index:05d}.bin"


def checkpoint_complete(run: str, attempt: str, step: int) -> str:
    """The copy of the manifest beside the data, written when all data is there and before the commit."""
    return f"{checkpoint_files(run, attempt)}{padded(step)}/manifest.json"


def checkpoint_round(run: str, attempt: str, number: int, name: str) -> str:
    """What ranks without another way to talk tell each other: one value of one round."""
    return f"{checkpoint_files(run, attempt)}rounds/{padded(number)}/{name}.json"


def run(run: str) -> str:
    """The record of a run."""
    return f"runs/{run}/run.json"


def outcome(run: str) -> str:
    """The record of a run's end."""
    return f"runs/{run}/outcome.json"


def run_checkpointing(run: str) -> str:
    """Which step of a run the run's checkpoints are of; create-only."""
    return f"runs/{run}/checkpointing.json"


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


def step_outputs(run: str, step: str) -> str:
    """The folder of what the job of a step has written for the step to read."""
    return f"{step_folder(run, step)}output/"


def step_log(run: str, step: str, start: str) -> str:
    """The log of one start of a step's job."""
    return f"{step_folder(run, step)}logs/{start}.log"


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


def tags(kind: Kind, name: str) -> str:
    """The folder of the tags of a name."""
    return f"tags/{kind.value}/{name}/"


def tag(kind: Kind, name: str, tag: str) -> str:
    """One tag: a create-only name for a version."""
    return f"{tags(kind, name)}{tag}.json"


GC_PLANS = "gc/"
"""The folder of the garbage collections that run."""


def gc_plan(attempt: str) -> str:
    """What one garbage collection is deleting at this moment; gone when it ends."""
    return f"{GC_PLANS}{attempt}.json"


PROBE_CREATE = "probes/conditional-put"
"""Written once a store, to see whether a second create of it is refused."""


def rollout_folder(service: str, number: int) -> str:
    """The folder of one rollout's transitions and samples."""
    return f"{rollouts(service)}{padded(number)}/"


def rollout_transition(service: str, number: int, sequence: int) -> str:
    """One transition of a rollout; create-only. The first opens the rollout."""
    return f"{rollout_folder(service, number)}{padded(sequence)}.json"
