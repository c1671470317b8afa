"""The terminal of a command: checked output, hints below an error, values of options for typer."""
