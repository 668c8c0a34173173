"""The command line `baton`.

Exit status: 0 done, 1 a run failed, 2 the input is wrong, 3 an expectation did not hold, 4 the given program failed,
130 interrupted, 141 the reader of standard output went away, as `head` does. Errors go to standard error. With `--json`
standard output is exactly one JSON object; for an error it is `{"error": {"message": …, "exit_status": …}}`.
"""

from __future__ import annotations

import gc
import os
import sys
from pathlib import Path

import click

from baton import BatonError, FolderError, ScenarioError, streams
from baton.command_line import CONTEXT, PATH, Group, Later
from baton.errors import InputError, Interrupted, nearest

READER_GONE = 141
"""Exit status that a shell gives a program ended by SIGPIPE."""

COMPLETION = "_BATON_COMPLETE"
"""Variable of the environment by which a shell asks for completions, as click names it."""

scenario_argument = click.argument("scenario", metavar="SCENARIO", help="A scenario file, or a shipped one's name.")
seed_option = click.option(
    "--seed", type=click.IntRange(min=0, max=2**64 - 1), help="Seed of all randomness; default: the scenario's, or 1."
)
set_option = click.option(
    "--set",
    "overrides",
    multiple=True,
    metavar="KEY=VALUE",
    help="Override a key, such as flows.download.transport.congestion=cubic. Repeatable.",
)
handover_option = click.option(
    "--handover",
    multiple=True,
    metavar="SPEC",
    help="A handover in place of the timetable: '5 s hard 2 s', '5 s soft tunnel'. Repeatable.",
)
force_option = click.option("--force", is_flag=True, help="Replace an existing results folder.")
pcap_option = click.option("--pcap", is_flag=True, help="Write a pcapng capture of each interface.")
pcap_interface_option = click.option(
    "--pcap-interface",
    multiple=True,
    metavar="NODE-LINK",
    help="Capture only this interface, such as laptop-wifi. Repeatable.",
)
snap_length_option = click.option(
    "--snap-length",
    type=click.IntRange(min=1, max=65535),
    metavar="BYTES",
    help="Capture only the first bytes of each packet.",
)
expect_option = click.option(
    "--expect",
    multiple=True,
    metavar="EXPR",
    help="Expect 'flows.download.longest_stall_s < 2', for example; exit 3 if it fails. Repeatable.",
)
junit_option = click.option("--junit", type=PATH, metavar="FILE", help="Write the expectations as a JUnit file.")
allow_python_option = click.option(
    "--allow-python", is_flag=True, help="Also run Python classes from outside the scenario's folder."
)
jobs_option = click.option(
    "--jobs", type=click.IntRange(min=1, max=1024), help="Concurrent runs on this machine; default: one per core."
)
executor_option = click.option(
    "--executor", metavar="dask://HOST:PORT", help="Run on the workers of this Dask scheduler; see docs/sweeps.md."
)
json_option = click.option("--json", is_flag=True, help="Print one JSON object on standard output.")


def print_version(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    """Prints the version and ends."""
    if wanted and not context.resilient_parsing:
        from baton import version

        print(f"baton {version.installed()}")
        context.exit()


@click.group(cls=Group, context_settings=CONTEXT)
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=print_version, help="Print the version."
)
def app() -> None:
    """A laboratory for transport protocols across handovers."""


@app.command()
@scenario_argument
@seed_option
@set_option
@handover_option
@click.option("--out", type=PATH, metavar="DIR", help="Results folder; default: results/<scenario>-<seed>.")
@force_option
@pcap_option
@pcap_interface_option
@snap_length_option
@expect_option
@junit_option
@allow_python_option
@click.option(
    "--threads",
    type=click.IntRange(min=1, max=1024),
    help="Run the scenario's parts on so many threads; see `baton check --cut`.",
)
@json_option
def run(
    scenario: str,
    seed: int | None,
    overrides: tuple[str, ...],
    handover: tuple[str, ...],
    out: Path | None,
    force: bool,
    pcap: bool,
    pcap_interface: tuple[str, ...],
    snap_length: int | None,
    expect: tuple[str, ...],
    junit: Path | None,
    allow_python: bool,
    threads: int | None,
    json: bool,
) -> int:
    """Run a scenario and write its results and report."""
    from baton import cli_run

    captures = cli_run.Captures(pcap, list(pcap_interface), snap_length)
    options = cli_run.RunOptions(
        scenario,
        seed,
        list(overrides),
        list(handover),
        out,
        force,
        captures,
        list(expect),
        junit,
        json,
        allow_python,
        threads,
    )
    return cli_run.run(options)


@app.command()
@click.argument("scenario", required=False, metavar="[SCENARIO]", help="A scenario file, or a shipped one's name.")
@click.argument(
    "program",
    nargs=-1,
    required=False,
    metavar="[-- PROGRAM ARGS...]",
    help="Run in the mobile, instead of the scenario's flows.",
)
@click.option("--server", metavar="CMD", help="Run in the correspondent; PROGRAM starts when it listens.")
@seed_option
@set_option
@handover_option
@click.option("--out", type=PATH, metavar="DIR", help="Results folder; default: results/<scenario>-live-<seed>.")
@force_option
@pcap_option
@pcap_interface_option
@snap_length_option
@expect_option
@junit_option
@json_option
@click.option("--ignore-unsupported", is_flag=True, help="Leave out what the kernel cannot do, with a warning.")
@click.option("--allow-no-handover", is_flag=True, help="Do not fail if no flow was under way at a handover.")
@click.option(
    "--repeat",
    type=click.IntRange(min=1),
    metavar="N",
    help="Run N times, with ascending seeds, and judge all runs together.",
)
@click.option(
    "--pass",
    "least_share",
    default="100 %",
    metavar="SHARE",
    help="Share of the repetitions that has to pass, such as '95 %'.",
)
@allow_python_option
@click.option("--check", is_flag=True, help="Check whether this machine can run live; takes no scenario.")
def live(
    scenario: str | None,
    program: tuple[str, ...],
    server: str | None,
    seed: int | None,
    overrides: tuple[str, ...],
    handover: tuple[str, ...],
    out: Path | None,
    force: bool,
    pcap: bool,
    pcap_interface: tuple[str, ...],
    snap_length: int | None,
    expect: tuple[str, ...],
    junit: Path | None,
    json: bool,
    ignore_unsupported: bool,
    allow_no_handover: bool,
    repeat: int | None,
    least_share: str,
    allow_python: bool,
    check: bool,
) -> int:
    """Run a scenario in real time, with the kernel's protocols and any program."""
    from baton import classes, cli_run
    from baton.live import cli_live, execution, machine

    if check:
        if scenario is not None:
            raise InputError("--check tests the machine, without a scenario; `baton check --live` tests a scenario")
        return machine.check_machine(as_json=json)
    if scenario is None:
        raise InputError("SCENARIO is missing: a scenario file, or a shipped one's name (`baton list scenarios`)")
    captures = cli_run.Captures(pcap, list(pcap_interface), snap_length)
    options = cli_run.RunOptions(
        scenario, seed, list(overrides), list(handover), out, force, captures, list(expect), junit, json, allow_python
    )
    classes.permit(cli_run.allowed(allow_python))
    live_options = execution.LiveOptions(options, server, ignore_unsupported, allow_no_handover, list(program))
    if repeat is not None:
        from baton.live import over
        from baton.live import repeat as repeating

        return repeating.run(live_options, repeat, over.share(least_share))
    return cli_live.run(live_options)


@app.command()
@click.argument("run", metavar="RUN", help="Name of a live run under way.")
@click.argument("link", metavar="LINK", help="Link to which its mobile moves.")
@click.option("--hard", metavar="OUTAGE", help="Make it hard, with this outage, such as '2 s'; default: soft.")
def handover(
    run: str,
    link: str,
    hard: str | None,
) -> None:
    """Move the mobile of a live run now."""
    from baton.handover_spec import seconds
    from baton.live import control

    answer = control.handover(run, link, None if hard is None else seconds(hard))
    print(f"{run}: to {link} at {answer['at_s']:.3f} s")


@app.command("set")
@click.argument("run", metavar="RUN", help="Name of a live run under way.")
@click.argument(
    "change", metavar="KEY=VALUE", help="Such as 'links.wifi.rate=2 Mbit/s' or links.wifi.packet_error_rate=0.01."
)
def set_key(
    run: str,
    change: str,
) -> None:
    """Change a link of a live run now, as an entry of [[changes]] would."""
    from baton.live import control

    answer = control.change(run, change)
    print(f"{run}: {change} at {answer['at_s']:.3f} s")


@app.command()
@scenario_argument
@set_option
@click.option("--live", is_flag=True, help="Also check whether the kernel can run it in real time.")
@click.option("--cut", is_flag=True, help="Show the parts in which `baton run --threads` runs it.")
def check(
    scenario: str,
    overrides: tuple[str, ...],
    live: bool,
    cut: bool,
) -> int:
    """Check a scenario without running it or the Python classes that it names."""
    from baton import cli_run

    loaded, _ = cli_run.load(scenario, list(overrides), live=live)
    if live:
        from baton.live import machine
        from baton.shipped import scenario_path

        status = machine.check_scenario(scenario_path(scenario), list(overrides))
        if status:
            return status
    print(f"{loaded.name}: no mistakes found")
    if cut:
        from baton import parts

        print(parts.describe(loaded.cut))
    return 0


@app.command()
def schema() -> None:
    """Print the JSON Schema of scenario files, for editors."""
    from baton import json_schema

    print(json_schema())


@app.command()
@click.argument(
    "run", type=PATH, metavar="RUN", help="Results folder of a run or a sweep, its manifest, or its archive."
)
@click.option(
    "--traces",
    type=PATH,
    metavar="DIR",
    help="Search here, too, for recordings and Python modules that are not with the results.",
)
@click.option("--allow-python", is_flag=True, help="Run the Python classes that the run names; they are code.")
def rerun(
    run: Path,
    traces: Path | None,
    allow_python: bool,
) -> int:
    """Repeat a run or a sweep, and compare the data; exit 1 if they differ."""
    from baton.rerun import RerunOptions
    from baton.rerun import rerun as run_again

    same = run_again(RerunOptions(run, traces, allow_python))
    for name, is_same in same.items():
        print(f"{name}: {'the same' if is_same else 'DIFFERS'}")
    return 0 if all(same.values()) else 1


@app.command()
@click.argument("run", type=PATH, metavar="RUN", help="Results folder of a run or a sweep.")
@click.option("--out", type=PATH, metavar="FILE", help="The archive; default: RUN.zip in the current folder.")
def pack(
    run: Path,
    out: Path | None,
) -> None:
    """Pack a run or a sweep into one archive, which `rerun` and `compare` take."""
    from baton.archive import pack as pack_results

    print(pack_results(run, out or Path(f"{run.resolve().name}.zip")))


@app.command()
@click.argument(
    "study", metavar="STUDY", help="A scenario (file or shipped name), a study file, or the folder of a study."
)
@click.argument(
    "program",
    nargs=-1,
    required=False,
    metavar="[-- PROGRAM ARGS...]",
    help="With --live: run in the mobile, at every point.",
)
@click.option(
    "--seeds", type=click.IntRange(min=1, max=1000000), help="Runs of each point; default: the study's, or 10."
)
@click.option(
    "--set",
    "overrides",
    multiple=True,
    metavar="KEY=A,B,…",
    help="An axis, such as flows.download.transport.congestion=reno,cubic. Repeatable.",
)
@click.option("--out", type=PATH, metavar="DIR", help="Folder; default: results/<study>-sweep.")
@click.option("--force", is_flag=True, help="Replace an existing sweep.")
@click.option("--resume", is_flag=True, help="Resume a sweep: make only the missing runs.")
@jobs_option
@executor_option
@click.option(
    "--shard", metavar="I/N", help="Make only part I of N, for a job of an array; `baton sweep merge` joins the parts."
)
@click.option(
    "--until-width",
    metavar="W",
    help="Stop a point when its 95 % interval is this narrow: 5% (of every flow's mean goodput), or"
    " flows.download.completion_s=5%.",
)
@click.option("--path", type=PATH, metavar="FILE", help="Compare remedies on this path, a scenario file of your own.")
@click.option("--full", is_flag=True, help="Compare remedies in all situations; takes hours.")
@click.option(
    "--live",
    is_flag=True,
    help="Run in real time with the kernel's protocols, as `baton live` does, one run at a time.",
)
@click.option("--server", metavar="CMD", help="With --live: run in the correspondent; PROGRAM starts when it listens.")
@allow_python_option
@json_option
def sweep(
    study: str,
    program: tuple[str, ...],
    seeds: int | None,
    overrides: tuple[str, ...],
    out: Path | None,
    force: bool,
    resume: bool,
    jobs: int | None,
    executor: str | None,
    shard: str | None,
    until_width: str | None,
    path: Path | None,
    full: bool,
    live: bool,
    server: str | None,
    allow_python: bool,
    json: bool,
) -> int:
    """Run a scenario over many values and seeds, on all cores or live, into a table, statistics and a page."""
    from baton.sweep import cli_sweep

    options = cli_sweep.SweepOptions(
        study, seeds, list(overrides), out, force, resume, jobs, executor, shard, until_width, json, path, full,
        allow_python, live, server, list(program),
    )  # fmt: skip
    return cli_sweep.run(options)


@app.command("sweep merge")
@click.argument(
    "shards", nargs=-1, required=True, type=PATH, metavar="SHARD...", help="Folders of all shards, in any order."
)
@click.option("--out", type=PATH, metavar="DIR", help="Folder; default: results/<study>-sweep.")
@click.option("--force", is_flag=True, help="Replace an existing sweep.")
@json_option
def sweep_merge(
    shards: tuple[Path, ...],
    out: Path | None,
    force: bool,
    json: bool,
) -> int:
    """Join the shards of a sweep into the sweep that one command would have made."""
    from baton.sweep import merge

    return merge.run(merge.MergeOptions(list(shards), out, force, json))


@app.command()
@click.argument("a", type=PATH, metavar="A", help="Results folder of a run or a sweep, or its archive.")
@click.argument("b", type=PATH, metavar="B", help="The one to compare with, or a capture (pcap, pcapng).")
@json_option
def compare(
    a: Path,
    b: Path,
    json: bool,
) -> int:
    """Compare two runs (such as a simulated and a live one), a run and a capture, or two sweeps, in a table and a
    page."""
    from baton.archive import opened
    from baton.compare import cli_compare

    with opened(a) as one, opened(b) as other:
        return cli_compare.run(one, other, as_json=json)


@app.command()
@click.argument(
    "ids", nargs=-1, required=False, metavar="[ID]...", help="Studies or checks, such as T, T2 or T2.h; default: all."
)
@click.option(
    "--live", is_flag=True, help="Run in real time with the kernel's TCP, beside the simulated stacks: T2 to T6."
)
@click.option("--sensitivity", is_flag=True, help="Repeat studies with other values of their chosen parameters.")
@jobs_option
@executor_option
@json_option
def reproduce(
    ids: tuple[str, ...],
    live: bool,
    sensitivity: bool,
    jobs: int | None,
    executor: str | None,
    json: bool,
) -> int:
    """Reproduce published studies: published numbers against measured ones."""
    from baton.reproduce import cli_live, cli_reproduce, cli_sensitivity

    if live and sensitivity:
        raise InputError("--live and --sensitivity: expected one of them")
    if not live and not sensitivity:
        return cli_reproduce.run(list(ids), jobs=jobs, executor=executor, as_json=json)
    if jobs is not None or executor is not None:
        raise InputError("--jobs and --executor: belong to simulated runs at the chosen parameters")
    run = cli_live.run if live else cli_sensitivity.run
    return run(list(ids), as_json=json)


@app.command()
@click.argument(
    "cases",
    required=False,
    type=PATH,
    metavar="[LIST]",
    help="A list of cases; default: the one that comes with Baton.",
)
@click.option("--quick", is_flag=True, help="Only the cases that the list marks as quick.")
@click.option(
    "--only",
    multiple=True,
    metavar="CASE",
    help="Only these cases, such as 'soft-*' or 'steady-5M-290ms/cubic'. Repeatable.",
)
@click.option("--half", metavar="HALF", help="Only one half of the list, every other case: first or second.")
@click.option("--repetitions", type=click.IntRange(min=1, max=1000), default=5, help="Runs of each case, both ways.")
@click.option(
    "--out",
    type=PATH,
    default=Path("results/fidelity"),
    metavar="DIR",
    help="Results folder; cases that it holds are not run again.",
)
@json_option
def fidelity(
    cases: Path | None,
    quick: bool,
    only: tuple[str, ...],
    half: str | None,
    repetitions: int,
    out: Path,
    json: bool,
) -> int:
    """Compare the simulated TCP with this machine's kernel: run scenarios both ways, several times."""
    from baton.fidelity import cli_fidelity
    from baton.fidelity.cases import HALVES

    if half is not None and half not in HALVES:
        raise InputError(f"--half {half}: expected `first` or `second`")
    options = cli_fidelity.FidelityOptions(cases, quick, list(only), half, repetitions, out, json)
    return cli_fidelity.run(options)


@app.command("list")
@click.argument("what", metavar="WHAT", help="links, queues, congestion, profiles, scenarios or studies.")
def list_names(
    what: str,
) -> None:
    """List the names to choose from."""
    from baton.catalogue import CATALOGUES

    if what not in CATALOGUES:
        raise InputError(f"`{what}`: no such list; {nearest(what, CATALOGUES)}")
    entries = CATALOGUES[what]()
    width = max(map(len, entries), default=0)
    for name, description in entries.items():
        print(f"{name:{width}}  {description}".rstrip())


app.add_command(Later("plan", "baton.plan", "The studies' design equations for your own case."))
app.add_command(Later("trace", "baton.trace_import", "Traces that drive links."))
app.add_command(Later("air-traffic", "baton.air_traffic", "Tracks of many aircraft, and cells for them."))


def main() -> None:
    """Runs a command and ends with its exit status: the entry point."""
    gc.set_threshold(50_000)  # what imports make stays: looking for cycles in it so often takes 2 % of a short run
    arguments = sys.argv[1:] or ["--help"]
    closed = streams.prepare()
    try:
        status = execute(arguments) if closed is None else fail(closed, 2, arguments)
    except BrokenPipeError:
        status = READER_GONE
        streams.silence()
    gc.freeze()  # the process ends: looking for cycles in all that was imported would take an eighth of a short run
    sys.exit(status)


def execute(arguments: list[str]) -> int:
    """Runs a command, and turns an error into a message and an exit status.

    Raises `BrokenPipeError` if nobody reads standard output any more.
    """
    try:
        status = invoke(arguments)
        print(end="", flush=True)
    except KeyboardInterrupt:
        return fail("interrupted", 130, arguments)
    except SystemExit as error:  # called for by a class in Python, which does not end the program
        import traceback

        traceback.print_exception(error)
        return fail(f"the run was ended by SystemExit: {error}", 1, arguments)
    except Exception as error:
        if isinstance(error, BrokenPipeError) and streams.reader_is_gone():
            raise
        return fail(*(describe(error) or unexpected(error)), arguments)
    return status


def invoke(arguments: list[str]) -> int:
    """Runs a command, or answers a shell that completes one; returns the exit status.

    Unlike click's own `main`, it passes on every error.
    """
    if instruction := os.environ.get(COMPLETION):
        from click.shell_completion import shell_complete

        return shell_complete(app, {}, "baton", COMPLETION, instruction)
    try:
        with app.make_context("baton", arguments) as context:
            return app.invoke(context) or 0
    except click.exceptions.Exit as end:
        return end.exit_code


def unexpected(error: Exception) -> tuple[str, int]:
    """Returns message and exit status of an unforeseen error: in a user's Python class, or a mistake in Baton."""
    import tempfile
    import traceback

    if of_a_class(error):
        traceback.print_exception(error)
        return f"the scenario's Python class failed: {type(error).__name__}: {error}", 1
    with tempfile.NamedTemporaryFile("w", prefix="baton-error-", suffix=".txt", delete=False) as file:
        file.write(f"baton {' '.join(sys.argv[1:])}\n")
        traceback.print_exception(error, file=file)
    return f"internal error ({type(error).__name__}: {error}); please report it, with {file.name}", 1


def of_a_class(error: Exception) -> bool:
    """Returns true for an error that came out of a user's Python class."""
    import traceback

    from baton.classes import FILES

    return any(frame.filename in FILES for frame in traceback.extract_tb(error.__traceback__))


def describe(error: Exception) -> tuple[str, int] | None:
    """Returns message and exit status of an error that a user can cause; nothing for a mistake in Baton."""
    if isinstance(error, (FolderError, InputError, ScenarioError)):
        return str(error), 2
    if isinstance(error, click.ClickException):  # a wrong use of the command line
        return error.format_message(), 2
    if isinstance(error, Interrupted):
        return str(error), 130
    if isinstance(error, BatonError):
        return str(error), 1
    if isinstance(error, OSError) and not of_a_class(error):
        where = f"{error.filename}: " if error.filename else ""
        return f"{where}{error.strerror or error}", 1
    return None


def fail(message: str, status: int, arguments: list[str]) -> int:
    """Reports an error, and returns its exit status."""
    unwritten = streams.output_failure()
    if unwritten is not None:
        streams.silence()
        message, status = f"standard output cannot be written: {unwritten}", 1
    print(f"baton: {message}", file=sys.stderr)
    own = arguments[: arguments.index("--")] if "--" in arguments else arguments  # behind it are a program's
    if "--json" in own:
        import json

        print(json.dumps({"error": {"message": message, "exit_status": status}}), flush=True)
    return status
