"""The faces of the components: what they look like to KFP, to Hera and to people."""

from goldenpath.faces.describe import ComponentDoc, InputDoc, OutputDoc, describe, type_name
from goldenpath.faces.generate import FAMILIES, files

__all__ = ["FAMILIES", "ComponentDoc", "InputDoc", "OutputDoc", "describe", "files", "type_name"]
