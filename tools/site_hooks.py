"""Two rules of the documentation site beyond its settings: a directory in the navigation stands for all of its pages, and a
search lists decisions after all other pages.

Owns these two rules. Called by mkdocs (`hooks` of mkdocs.yml); imports nothing of it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any


def on_config(config: Any) -> Any:
    """Expand the directories of the navigation."""
    config["nav"] = _expanded(config["nav"], Path(config["docs_dir"]))
    return config


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Give decisions a low rank in a search: most searches are for the manual."""
    if page.file.src_uri.startswith("adr/"):
        page.meta["search"] = {"boost": 0.1}
    return markdown


def _expanded(entry: Any, docs: Path) -> Any:
    if isinstance(entry, list):
        return [_expanded(each, docs) for each in entry]
    if isinstance(entry, dict):
        return {title: _expanded(inner, docs) for title, inner in entry.items()}
    if not (docs / entry).is_dir():
        return entry
    pages = sorted((docs / entry).glob("*.md"), key=lambda path: (path.name != "README.md", path.name))
    return [f"{entry}/{path.name}" if path.name == "README.md" else {path.stem: f"{entry}/{path.name}"} for path in pages]
