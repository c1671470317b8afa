"""`gridengine simulate`: run a trace under a configuration on virtual time, and show its measures.

Owns the command line and the reading of files. `daemons.simulator` replays the trace; nothing contacts a cell. Called by
`program`. Source: docs/simulate.md.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from clients import accounting_source
from clients.admin.arco.dbwriter_client import DbwriterClient
from clients.admin.cell import CellFiles, cell_of_environment, read_cell
from clients.admin.cell_directory import Objects, read_directory
from clients.admin.cell_options import CellName, Root
from clients.admin.errors import AdminError
from clients.admin.simulation.database_records import records_of_database
from clients.admin.simulation.progress import counting
from clients.admin.simulation.report import Named, as_csv, comparison, shares_table, summary
from clients.program import CommandError
from daemons.simulator.accounting_trace import trace_of_records
from daemons.simulator.measures import measures
from daemons.simulator.replay import Replay, ReplayOutcome
from daemons.simulator.swf_trace import trace_of_swf
from daemons.simulator.trace import JobTrace
from daemons.simulator.virtual_cell import VirtualCell
from gridengine.errors import ConfigError, plain_fault
from gridengine.extensions import require_libraries

_ALLOCATIONS = ("$fill_up", "$round_robin", "$pe_slots")
"""The allocation rules by which a parallel environment suits jobs of any width, the best first."""


def simulate(
    config: Annotated[Path, typer.Argument(metavar="CONFIG", help="A directory as `gridengine config export` writes it.")],
    trace: Annotated[
        Path | None, typer.Argument(metavar="TRACE", help="An accounting file, or a Standard Workload Format file (.swf).")
    ] = None,
    database: Annotated[bool, typer.Option("--database", help="The jobs of the accounting database, without TRACE.")] = False,
    against: Annotated[
        Path | None, typer.Option(metavar="CONFIG", help="Also replay under this configuration, and show the differences.")
    ] = None,
    csv: Annotated[Path | None, typer.Option(metavar="FILE", help="Write a line a task: waiting time, run time, place.")] = None,
    plot: Annotated[Path | None, typer.Option(metavar="FILE", help="Draw waiting tasks and used slots: .png or .svg.")] = None,
    pe: Annotated[str, typer.Option(metavar="NAME", help="Parallel environment of the wide jobs of an .swf file.")] = "",
    reserve: Annotated[bool, typer.Option("--reserve", help="All jobs ask for a reservation (-R y).")] = False,
    jobs: Annotated[int, typer.Option(min=0, help="Only the first jobs of the trace. 0: all.")] = 0,
    root: Root = None,
    cell: CellName = "default",
) -> None:
    """Replay the jobs of the past under a configuration: waiting time, slowdown, utilisation, fairness. Needs no cell, but for
    its database."""
    if (trace is None) != database:
        raise AdminError("name one source of jobs: the file TRACE or --database")
    if plot is not None:
        require_libraries("simulate")
        if plot.suffix.lower() not in (".png", ".svg"):
            raise AdminError(f"{plot}: a plot is written as .png or .svg")
    directories = [config] if against is None else [config, against]
    configurations = [read_directory(each) for each in directories]
    if trace is None:
        read, source = trace_of_database(cell_of_environment(root, cell)), "database"
    else:
        read, source = read_trace(trace, pe or _parallel_environment(configurations[0])), str(trace)
    read = read.first(jobs)
    for sentence in read.faults.sentences():
        typer.echo(f"{source}: {sentence}", err=True)
    for job in read.jobs:
        job.reserve = reserve
    if not read.jobs:
        raise AdminError(f"{source} has no job that ran")
    outcomes = [(str(path), _replay(path, each, read)) for path, each in zip(directories, configurations, strict=True)]
    _print(outcomes)
    if csv is not None:
        _write(csv, as_csv(outcomes))
    if plot is not None:
        from clients.admin.simulation.plot import draw

        draw(outcomes, plot)


def read_trace(path: Path, pe: str) -> JobTrace:
    """The jobs of a file, by its name. `pe`: of wide jobs that name none. AdminError: the file cannot be read."""
    is_swf = path.name.removesuffix(".gz").endswith(".swf")
    try:
        if is_swf:
            with accounting_source.open_unpacked(str(path)) as file:
                return trace_of_swf(iter(lambda: file.readline(accounting_source.MAX_LINE_BYTES), b""), pe)
        source = accounting_source.File(str(path))
        trace = trace_of_records(source.records({}))
        source.report_faults()
        return trace
    except (OSError, EOFError) as error:
        raise AdminError(f"cannot read {path}: {plain_fault(error)}") from None
    except CommandError as error:
        raise AdminError(str(error).partition("\n")[0]) from None


def trace_of_database(files: CellFiles) -> JobTrace:
    """The jobs of the accounting database of a cell. AdminError: there is none, or sge_dbwriter does not answer."""
    return trace_of_records(records_of_database(DbwriterClient(read_cell(files))))


def _parallel_environment(objects: Objects) -> str:
    """The first parallel environment with the best of the allocation rules; "" without any."""
    known = objects.get("parallel_environment", {})
    for rule in _ALLOCATIONS:
        for name in sorted(known):
            if known[name].get("allocation_rule") == rule:
                return name
    return ""


def _replay(path: Path, objects: Objects, trace: JobTrace) -> ReplayOutcome:
    """The outcome of the trace under the configuration of a directory."""
    try:
        cell = VirtualCell(objects, trace.jobs[0].submit_time)
    except ConfigError as error:
        raise AdminError(f"{path}: {error.reason}") from None
    with counting(f"{path}", trace.task_count) as on_progress:
        outcome = Replay(cell, trace, on_progress).run()
    for sentence in outcome.refused.sentences():
        typer.echo(f"{path}: {sentence}", err=True)
    for fault in cell.faults:
        typer.echo(f"{path}: job {fault.job_id} cannot be scheduled: {fault.reason}", err=True)
    if outcome.left:
        typer.echo(f"{path}: {outcome.left} tasks never started", err=True)
    return outcome


def _print(outcomes: list[Named]) -> None:
    measured = [(name, measures(outcome)) for name, outcome in outcomes]
    lines = summary(measured[0][1]) if len(measured) == 1 else comparison(*measured)
    for line in lines:
        typer.echo(line)
    for what in ("user", "project"):
        typer.echo("")
        for line in shares_table(what, outcomes):
            typer.echo(line)


def _write(path: Path, lines: list[str]) -> None:
    try:
        if str(path) == "-":
            sys.stdout.writelines(lines)
        else:
            path.write_text("".join(lines))
    except OSError as error:
        raise AdminError(f"cannot write {path}: {plain_fault(error)}") from None
