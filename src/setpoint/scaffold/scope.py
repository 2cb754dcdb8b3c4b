"""The scope of a kind: the changes of a template's files for a kind whose objects are in no namespace."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from setpoint.deploy.file_tree import File

_CLASS: Final = re.compile(r'(\n    sp\.CustomResource,\n    group="[^"]+",\n    version="[^"]+",\n)')
_REQUESTS: Final = re.compile(r'("""The requests and limits of each pod\..*"""\n)')
_CHILD: Final = re.compile(r'(Deployment\.named\(f"[^"]+"), ')
_NAMESPACE: Final = '''
NAMESPACE = "default"
"""The namespace of the Deployments; the kind itself is in none."""
'''


def cluster_scoped(files: Mapping[str, File], kind: str) -> dict[str, File]:
    """The files of a template for a kind of the scope ``Cluster``: its class says so, its objects have no namespace in
    tests, and its children are in a namespace that the controller names.
    """
    owned = re.compile(rf'(\b{kind}(?:V\w+)?\.named\("[^"]*"(?: \* \d+)?), "default"')

    def changed(text: str) -> str:
        text = _CLASS.sub(r'\1    scope="Cluster",\n', text)
        text = owned.sub(r"\1", text)
        if _CHILD.search(text):
            text = _REQUESTS.sub(lambda match: match[1] + _NAMESPACE, _CHILD.sub(r"\1, NAMESPACE, ", text))
        return text

    return {path: replace(file, text=changed(file.text)) for path, file in files.items()}
