"""`gridengine policy`: questions about the policies of the scheduler.

Owns the list of its sub-commands.
"""

from __future__ import annotations

import typer

from clients.admin.policy_explain import explain
from clients.admin.policy_forecast import forecast
from clients.admin.policy_try import try_settings

policy = typer.Typer(help="Explain the order of pending jobs and the quality of forecasts; try changes.", no_args_is_help=True)
policy.command("explain")(explain)
policy.command("forecast")(forecast)
policy.command("try")(try_settings)
