"""The face for Kubeflow Pipelines: lightweight components that import the library in their body.

KFP ships the function's source alone, so that a body imports all it needs and an annotation may use
builtins and ``typing`` only.
"""

from __future__ import annotations

from typing import Any

from goldenpath.faces.describe import ComponentDoc
from goldenpath.faces.python import HEADER, call, class_name, docstring, needs_optional, parameter
from goldenpath.steps import Component

DISPLAYS: dict[str, tuple[str, str, str, str]] = {
    "evaluation.evaluate": (
        "scores",
        "Metrics",
        "Shows the metrics in the UI; not to be wired.",
        "show_metrics(outputs.metrics, scores)",
    ),
    "evaluation.gate": (
        "page",
        "HTML",
        "Shows the report in the UI; not to be wired.",
        "show_html(outputs.report, page.path)",
    ),
}
"""What the UI shows of a component: the artifact's parameter, its type, its doc, the call that fills it."""


def module(family: str, components: list[tuple[Component[..., Any], ComponentDoc]]) -> str:
    """The source of ``components/<family>/kfp.py``."""
    typing_names = ["NamedTuple"] + ["Optional"] * needs_optional([doc for _, doc in components])
    head = (
        f'{HEADER}"""The {family} components for Kubeflow Pipelines."""\n\n'
        f"from typing import {', '.join(typing_names)}\n\n"
        "from kfp import dsl\n\n"
        "from goldenpath.steps.task import IMAGE\n\n"
    )
    return head + "\n\n".join(_function(component, doc) for component, doc in components)


def _function(component: Component[..., Any], doc: ComponentDoc) -> str:
    name = component.function.__name__
    parameters = [parameter(spec) for spec in doc.inputs]
    imports, fill = "", ""
    extra: dict[str, str] = {}
    if doc.name in DISPLAYS:
        artifact, kind, text, show = DISPLAYS[doc.name]
        # Without a default, so before the parameters that have one.
        required = sum(spec.required for spec in doc.inputs)
        parameters.insert(required, f"{artifact}: dsl.Output[dsl.{kind}]")
        extra = {artifact: text}
        imports = f"    from goldenpath.steps.display import {show.partition('(')[0]}\n"
        fill = f"    {show}\n"
    fields = ", ".join(f'("{spec.name}", {spec.wire.name})' for spec in doc.outputs)
    return (
        "@dsl.component(base_image=IMAGE, install_kfp_package=False)\n"
        f"def {name}({', '.join(parameters)}) -> NamedTuple('{class_name(doc)}', [{fields}]):\n"
        f"{docstring(doc, extra=extra)}\n"
        f"{call(component, doc, imports=imports)}{fill}"
        "    return outputs\n"
    )
