"""The rules that a policy is made of: one file a kind. A new kind is one more line here."""

from typing import Annotated

from pydantic import Field

from goldenpath.evaluation.rules.calibration import Calibration
from goldenpath.evaluation.rules.ceiling import Ceiling
from goldenpath.evaluation.rules.floor import Floor
from goldenpath.evaluation.rules.growth import Growth
from goldenpath.evaluation.rules.no_regression import NoRegression
from goldenpath.evaluation.rules.schema import Schema
from goldenpath.evaluation.rules.slices import Slices

Rule = Annotated[
    Floor | Ceiling | Growth | NoRegression | Slices | Calibration | Schema, Field(discriminator="kind")
]
"""Any rule, told by its ``kind``."""

__all__ = ["Calibration", "Ceiling", "Floor", "Growth", "NoRegression", "Rule", "Schema", "Slices"]
