"""`gridengine completion`. Called by `program`; walks the sub-commands of that program."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from clients.admin.command_tree import sub_commands
from clients.admin.completion import bash_completion, zsh_completion
from clients.admin.fish_completion import fish_completion


def completion(
    context: typer.Context, shell: Annotated[Literal["bash", "zsh", "fish"], typer.Argument(help="The shell to complete in.")]
) -> None:
    """Print the completion of all commands: `source <(gridengine completion bash)` in ~/.bashrc; the same for zsh; for fish
    `gridengine completion fish | source`.
    """
    scripts = {"bash": bash_completion, "zsh": zsh_completion, "fish": fish_completion}
    typer.echo(scripts[shell](sub_commands(context.find_root().command)), nl=False)
