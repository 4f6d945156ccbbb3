"""The face for Argo Workflows: Hera scripts that the runner starts in a pod that holds this package.

Outside a Hera context a script is the plain function, and inside one a template; see
``goldenpath.pipelines`` for templates with labels and variables of their own.
"""

from __future__ import annotations

import textwrap
from typing import Any

from goldenpath.errors import GoldenPathError
from goldenpath.faces.describe import ComponentDoc
from goldenpath.faces.python import HEADER, call, class_name, docstring, needs_optional, parameter
from goldenpath.steps import Component

_RESERVED = frozenset({"exit_code", "result"})
"""Fields that Hera's ``Output`` has already."""


def module(family: str, components: list[tuple[Component[..., Any], ComponentDoc]]) -> str:
    """The source of ``components/<family>/hera.py``."""
    optional = "from typing import Optional\n\n" if needs_optional([doc for _, doc in components]) else ""
    head = (
        f'{HEADER}"""The {family} components for Argo Workflows, by Hera."""\n\n'
        f"{optional}"
        "from hera.workflows import script\n"
        "from hera.workflows.io import Output\n\n"
        "from goldenpath.steps.task import IMAGE\n\n"
    )
    return head + "\n\n".join(_function(component, doc) for component, doc in components)


def _function(component: Component[..., Any], doc: ComponentDoc) -> str:
    name, outputs = component.function.__name__, class_name(doc)
    return (
        f"{_outputs(doc)}\n\n"
        '@script(constructor="runner", image=IMAGE)\n'
        f"def {name}({', '.join(parameter(spec) for spec in doc.inputs)}) -> {outputs}:\n"
        f"{docstring(doc)}\n"
        f"{call(component, doc)}"
        f"    return {outputs}(**outputs._asdict())\n"
    )


def _outputs(doc: ComponentDoc) -> str:
    lines = [f"class {class_name(doc)}(Output):", f'    """The outputs of {doc.name}."""', ""]
    for spec in doc.outputs:
        if spec.name in _RESERVED:
            raise GoldenPathError(f"{doc.name}: Hera keeps the output name {spec.name!r} for itself.")
        lines.append(f"    {spec.name}: {spec.wire.name}")
        if spec.doc:
            text = textwrap.fill(f'"""{spec.doc}"""', 100, break_long_words=False, break_on_hyphens=False)
            lines.append(textwrap.indent(text, "    "))
    return "\n".join(lines) + "\n"
