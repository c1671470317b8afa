"""Prints the bill of materials of a payload as CycloneDX 1.6: `python3 -m tools.sbom PAYLOAD`.

One component for each wheel, each source of the interpreter, and each script of others that the web console brings. Versions
and licences are those that the packages state. The same payload gives the same text. Called by `packaging/payload`, by a Python
without libraries.
"""

from __future__ import annotations

import hashlib
import json
import sys
import uuid
from collections.abc import Iterator
from email.parser import HeaderParser
from pathlib import Path
from zipfile import ZipFile

import gridengine

Component = dict[str, object]


def wheel(path: Path) -> Component:
    """The component of a wheel: name, version and licence of its METADATA, and the digest of the file."""
    with ZipFile(path) as archive:
        (name,) = [each for each in archive.namelist() if each.count("/") == 1 and each.endswith(".dist-info/METADATA")]
        facts = HeaderParser().parsestr(archive.read(name).decode())
    found = component(facts["Name"].lower().replace("_", "-"), facts["Version"], "pypi")
    if expression := facts["License-Expression"]:
        return found | digest(path) | {"licenses": [{"expression": expression}]}
    stated = [each.rpartition(" :: ")[2] for each in facts.get_all("Classifier", []) if each.startswith("License :: ")]
    if not stated and (text := (facts["License"] or "").splitlines()):
        stated = text[:1]
    return found | digest(path) | ({"licenses": [{"license": {"name": each}} for each in stated]} if stated else {})


def digest(path: Path) -> Component:
    """The digest of a file, as a component states it."""
    return {"hashes": [{"alg": "SHA-256", "content": hashlib.sha256(path.read_bytes()).hexdigest()}]}


def component(name: str, version: str, registry: str) -> Component:
    """A library, with the package URL that scanners of vulnerabilities look up. `registry`: pypi, npm, deb/debian."""
    url = f"pkg:{registry}/{name}@{version.replace(':', '%3A')}"
    return {"type": "library", "bom-ref": url, "name": name, "version": version, "purl": url}


def components(payload: Path) -> Iterator[Component]:
    """All components of a payload."""
    for path in sorted((payload / "wheels").glob("*.whl")):
        yield wheel(path)
    for line in (payload / "python" / "sources").read_text().splitlines():
        name, version = line.split()
        yield component(name, version, "deb/debian") | {"description": "source package, linked into the interpreter"}
    for manifest in sorted((payload / "source").rglob("vendor/manifest.json")):
        packages = {(each["package"], each["version"]) for each in json.loads(manifest.read_text())}
        yield from (component(name, version, "npm") for name, version in sorted(packages))


def bill(payload: Path) -> Component:
    """The bill of materials. Its serial number is made of its components, so that the same payload has the same one."""
    own: Component = {"type": "application", "bom-ref": "gridengine", "name": "gridengine", "version": gridengine.__version__}
    listed = list(components(payload))
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_OID, json.dumps([own, listed]))}",
        "version": 1,
        "metadata": {"component": own},
        "components": listed,
        "dependencies": [{"ref": "gridengine", "dependsOn": sorted(str(each["bom-ref"]) for each in listed)}],
    }


if __name__ == "__main__":
    print(json.dumps(bill(Path(sys.argv[1])), indent=1))
