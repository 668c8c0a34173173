"""The command line `baton`.

Exit status: 0 done, 1 a run failed, 2 the input is wrong, 3 an expectation did not hold, 4 the given program failed,
130 interrupted, 141 the reader of standard output went away, as `head` does. Errors go to standard error. With `--json`
standard output is exactly one JSON object; for an error it is `{"error": {"message": …, "exit_status": …}}`.
"""

from __future__ import annotations

import gc
import sys
import tempfile
import traceback
from pathlib import Path
from typing import Annotated

import typer
from typer.exceptions import TyperException

from baton import BatonError, FolderError, ScenarioError, streams
from baton.errors import InputError, Interrupted, nearest

app = typer.Typer(
    name="baton",
    help="A laboratory for transport protocols across handovers.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

READER_GONE = 141
"""Exit status that a shell gives a program ended by SIGPIPE."""

ScenarioArgument = Annotated[str, typer.Argument(metavar="SCENARIO", help="A scenario file, or a shipped one's name.")]
SeedOption = Annotated[
    int | None, typer.Option(min=0, max=2**64 - 1, help="Seed of all randomness; default: the scenario's, or 1.")
]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Override a key, such as flows.download.transport.congestion=cubic. Repeatable.",
    ),
]
HandoverOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="SPEC", help="A handover in place of the timetable: '5 s hard 2 s', '5 s soft tunnel'. Repeatable."
    ),
]
ForceOption = Annotated[bool, typer.Option("--force", help="Replace an existing results folder.")]
PcapOption = Annotated[bool, typer.Option("--pcap", help="Write a pcapng capture of each interface.")]
PcapInterfaceOption = Annotated[
    list[str] | None,
    typer.Option(
        "--pcap-interface", metavar="NODE-LINK", help="Capture only this interface, such as laptop-wifi. Repeatable."
    ),
]
SnapLengthOption = Annotated[
    int | None,
    typer.Option(
        "--snap-length", metavar="BYTES", min=1, max=65535, help="Capture only the first bytes of each packet."
    ),
]
ExpectOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="EXPR", help="Expect 'flows.download.longest_stall_s < 2', for example; exit 3 if it fails. Repeatable."
    ),
]
JunitOption = Annotated[Path | None, typer.Option(metavar="FILE", help="Write the expectations as a JUnit file.")]
AllowPythonOption = Annotated[
    bool, typer.Option("--allow-python", help="Also run Python classes from outside the scenario's folder.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object on standard output.")]


def print_version(wanted: bool) -> None:
    """Prints the version and ends."""
    if wanted:
        from baton import version

        print(f"baton {version.installed()}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """A laboratory for transport protocols across handovers."""


@app.command()
def run(
    scenario: ScenarioArgument,
    seed: SeedOption = None,
    overrides: SetOption = None,
    handover: HandoverOption = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Results folder; default: results/<scenario>-<seed>.")
    ] = None,
    force: ForceOption = False,
    pcap: PcapOption = False,
    pcap_interface: PcapInterfaceOption = None,
    snap_length: SnapLengthOption = None,
    expect: ExpectOption = None,
    junit: JunitOption = None,
    allow_python: AllowPythonOption = False,
    json: JsonOption = False,
) -> None:
    """Run a scenario and write its results and report."""
    from baton import cli_run

    captures = cli_run.Captures(pcap, pcap_interface or [], snap_length)
    options = cli_run.RunOptions(
        scenario, seed, overrides or [], handover or [], out, force, captures, expect or [], junit, json, allow_python
    )
    raise typer.Exit(cli_run.run(options))


@app.command()
def live(
    scenario: Annotated[
        str | None, typer.Argument(metavar="SCENARIO", help="A scenario file, or a shipped one's name.")
    ] = None,
    program: Annotated[
        list[str] | None,
        typer.Argument(metavar="[-- PROGRAM ARGS...]", help="Run in the mobile, instead of the scenario's flows."),
    ] = None,
    server: Annotated[
        str | None,
        typer.Option(metavar="CMD", help="Run in the correspondent; PROGRAM starts when it listens."),
    ] = None,
    seed: SeedOption = None,
    overrides: SetOption = None,
    handover: HandoverOption = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Results folder; default: results/<scenario>-live-<seed>.")
    ] = None,
    force: ForceOption = False,
    pcap: PcapOption = False,
    pcap_interface: PcapInterfaceOption = None,
    snap_length: SnapLengthOption = None,
    expect: ExpectOption = None,
    junit: JunitOption = None,
    json: JsonOption = False,
    ignore_unsupported: Annotated[
        bool, typer.Option("--ignore-unsupported", help="Leave out what the kernel cannot do, with a warning.")
    ] = False,
    allow_no_handover: Annotated[
        bool, typer.Option("--allow-no-handover", help="Do not fail if no flow was under way at a handover.")
    ] = False,
    repeat: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Run N times, with ascending seeds, and judge all runs together."),
    ] = None,
    least_share: Annotated[
        str, typer.Option("--pass", metavar="SHARE", help="Share of the repetitions that has to pass, such as '95 %'.")
    ] = "100 %",
    allow_python: AllowPythonOption = False,
    check: Annotated[
        bool, typer.Option("--check", help="Check whether this machine can run live; takes no scenario.")
    ] = False,
) -> None:
    """Run a scenario in real time, with the kernel's protocols and any program."""
    from baton import classes, cli_run
    from baton.live import cli_live, execution, machine

    if check:
        if scenario is not None:
            raise InputError("--check tests the machine, without a scenario; `baton check --live` tests a scenario")
        raise typer.Exit(machine.check_machine(as_json=json))
    if scenario is None:
        raise InputError("SCENARIO is missing: a scenario file, or a shipped one's name (`baton list scenarios`)")
    captures = cli_run.Captures(pcap, pcap_interface or [], snap_length)
    options = cli_run.RunOptions(
        scenario, seed, overrides or [], handover or [], out, force, captures, expect or [], junit, json, allow_python
    )
    classes.permit(cli_run.allowed(allow_python))
    live_options = execution.LiveOptions(options, server, ignore_unsupported, allow_no_handover, program or [])
    if repeat is not None:
        from baton.live import over
        from baton.live import repeat as repeating

        raise typer.Exit(repeating.run(live_options, repeat, over.share(least_share)))
    raise typer.Exit(cli_live.run(live_options))


@app.command()
def handover(
    run: Annotated[str, typer.Argument(metavar="RUN", help="Name of a live run under way.")],
    link: Annotated[str, typer.Argument(metavar="LINK", help="Link to which its mobile moves.")],
    hard: Annotated[
        str | None, typer.Option(metavar="OUTAGE", help="Make it hard, with this outage, such as '2 s'; default: soft.")
    ] = None,
) -> None:
    """Move the mobile of a live run now."""
    from baton.handover_spec import seconds
    from baton.live import control

    answer = control.handover(run, link, None if hard is None else seconds(hard))
    print(f"{run}: to {link} at {answer['at_s']:.3f} s")


@app.command("set")
def set_key(
    run: Annotated[str, typer.Argument(metavar="RUN", help="Name of a live run under way.")],
    change: Annotated[
        str,
        typer.Argument(
            metavar="KEY=VALUE", help="Such as 'links.wifi.rate=2 Mbit/s' or links.wifi.packet_error_rate=0.01."
        ),
    ],
) -> None:
    """Change a link of a live run now, as an entry of [[changes]] would."""
    from baton.live import control

    answer = control.change(run, change)
    print(f"{run}: {change} at {answer['at_s']:.3f} s")


@app.command()
def check(
    scenario: ScenarioArgument,
    overrides: SetOption = None,
    live: Annotated[
        bool, typer.Option("--live", help="Also check whether the kernel can run it in real time.")
    ] = False,
) -> None:
    """Check a scenario without running it or the Python classes that it names."""
    from baton import cli_run

    loaded, _ = cli_run.load(scenario, overrides or [], live=live)
    if live:
        from baton.live import machine
        from baton.shipped import scenario_path

        status = machine.check_scenario(scenario_path(scenario), overrides or [])
        if status:
            raise typer.Exit(status)
    print(f"{loaded.name}: no mistakes found")


@app.command()
def schema() -> None:
    """Print the JSON Schema of scenario files, for editors."""
    from baton import json_schema

    print(json_schema())


@app.command()
def rerun(
    run: Annotated[
        Path, typer.Argument(metavar="RUN", help="Results folder of a run or a sweep, its manifest, or its archive.")
    ],
    traces: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Search here, too, for recordings and Python modules that are not with the results."
        ),
    ] = None,
    allow_python: Annotated[
        bool, typer.Option("--allow-python", help="Run the Python classes that the run names; they are code.")
    ] = False,
) -> None:
    """Repeat a run or a sweep, and compare the data; exit 1 if they differ."""
    from baton.rerun import RerunOptions
    from baton.rerun import rerun as run_again

    same = run_again(RerunOptions(run, traces, allow_python))
    for name, is_same in same.items():
        print(f"{name}: {'the same' if is_same else 'DIFFERS'}")
    raise typer.Exit(0 if all(same.values()) else 1)


@app.command()
def pack(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Results folder of a run or a sweep.")],
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The archive; default: RUN.zip in the current folder.")
    ] = None,
) -> None:
    """Pack a run or a sweep into one archive, which `rerun` and `compare` take."""
    from baton.archive import pack as pack_results

    print(pack_results(run, out or Path(f"{run.resolve().name}.zip")))


@app.command()
def sweep(
    study: Annotated[
        str,
        typer.Argument(
            metavar="STUDY", help="A scenario (file or shipped name), a study file, or the folder of a study."
        ),
    ],
    program: Annotated[
        list[str] | None,
        typer.Argument(metavar="[-- PROGRAM ARGS...]", help="With --live: run in the mobile, at every point."),
    ] = None,
    seeds: Annotated[
        int | None, typer.Option(min=1, max=1_000_000, help="Runs of each point; default: the study's, or 10.")
    ] = None,
    overrides: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=A,B,…",
            help="An axis, such as flows.download.transport.congestion=reno,cubic. Repeatable.",
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Folder; default: results/<study>-sweep.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing sweep.")] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Resume a sweep: make only the missing runs.")] = False,
    jobs: Annotated[int | None, typer.Option(min=1, max=1024, help="Concurrent runs; default: one per core.")] = None,
    until_width: Annotated[
        str | None,
        typer.Option(
            metavar="W",
            help="Stop a point when its 95 % interval is this narrow: 5% (of every flow's mean goodput), or"
            " flows.download.completion_s=5%.",
        ),
    ] = None,
    path: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Compare remedies on this path, a scenario file of your own.")
    ] = None,
    full: Annotated[bool, typer.Option("--full", help="Compare remedies in all situations; takes hours.")] = False,
    live: Annotated[
        bool,
        typer.Option(
            "--live", help="Run in real time with the kernel's protocols, as `baton live` does, one run at a time."
        ),
    ] = False,
    server: Annotated[
        str | None,
        typer.Option(metavar="CMD", help="With --live: run in the correspondent; PROGRAM starts when it listens."),
    ] = None,
    allow_python: AllowPythonOption = False,
    json: JsonOption = False,
) -> None:
    """Run a scenario over many values and seeds, on all cores or live, into a table, statistics and a page."""
    from baton.sweep import cli_sweep

    options = cli_sweep.SweepOptions(
        study, seeds, overrides or [], out, force, resume, jobs, until_width, json, path, full, allow_python,
        live, server, program or [],
    )  # fmt: skip
    raise typer.Exit(cli_sweep.run(options))


@app.command()
def compare(
    a: Annotated[Path, typer.Argument(metavar="A", help="Results folder of a run or a sweep, or its archive.")],
    b: Annotated[Path, typer.Argument(metavar="B", help="The one to compare with, or a capture (pcap, pcapng).")],
    json: JsonOption = False,
) -> None:
    """Compare two runs (such as a simulated and a live one), a run and a capture, or two sweeps, in a table and a
    page."""
    from baton.archive import opened
    from baton.compare import cli_compare

    with opened(a) as one, opened(b) as other:
        raise typer.Exit(cli_compare.run(one, other, as_json=json))


@app.command()
def reproduce(
    ids: Annotated[
        list[str] | None,
        typer.Argument(metavar="[ID]...", help="Studies or checks, such as T, T2 or T2.h; default: all."),
    ] = None,
    live: Annotated[
        bool,
        typer.Option("--live", help="Run in real time with the kernel's TCP, beside the simulated stacks: T2 to T6."),
    ] = False,
    sensitivity: Annotated[
        bool,
        typer.Option("--sensitivity", help="Repeat studies with other values of their chosen parameters."),
    ] = False,
    json: JsonOption = False,
) -> None:
    """Reproduce published studies: published numbers against measured ones."""
    from baton.reproduce import cli_live, cli_reproduce, cli_sensitivity

    if live and sensitivity:
        raise InputError("--live and --sensitivity: expected one of them")
    run = cli_live.run if live else cli_sensitivity.run if sensitivity else cli_reproduce.run
    raise typer.Exit(run(ids or [], as_json=json))


@app.command()
def fidelity(
    cases: Annotated[
        Path | None, typer.Argument(metavar="[LIST]", help="A list of cases; default: the one that comes with Baton.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Only the cases that the list marks as quick.")] = False,
    only: Annotated[
        list[str] | None,
        typer.Option(metavar="CASE", help="Only these cases, such as 'soft-*' or 'steady-5M-290ms/cubic'. Repeatable."),
    ] = None,
    half: Annotated[
        str | None, typer.Option(metavar="HALF", help="Only one half of the list, every other case: first or second.")
    ] = None,
    repetitions: Annotated[int, typer.Option(min=1, max=1000, help="Runs of each case, both ways.")] = 5,
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Results folder; cases that it holds are not run again.")
    ] = Path("results/fidelity"),
    json: JsonOption = False,
) -> None:
    """Compare the simulated TCP with this machine's kernel: run scenarios both ways, several times."""
    from baton.fidelity import cli_fidelity
    from baton.fidelity.cases import HALVES

    if half is not None and half not in HALVES:
        raise InputError(f"--half {half}: expected `first` or `second`")
    options = cli_fidelity.FidelityOptions(cases, quick, only or [], half, repetitions, out, json)
    raise typer.Exit(cli_fidelity.run(options))


@app.command("list")
def list_names(
    what: Annotated[
        str, typer.Argument(metavar="WHAT", help="links, queues, congestion, profiles, scenarios or studies.")
    ],
) -> None:
    """List the names to choose from."""
    from baton.catalogue import CATALOGUES

    if what not in CATALOGUES:
        raise InputError(f"`{what}`: no such list; {nearest(what, CATALOGUES)}")
    entries = CATALOGUES[what]()
    width = max(map(len, entries), default=0)
    for name, description in entries.items():
        print(f"{name:{width}}  {description}".rstrip())


def add_groups(arguments: list[str]) -> None:
    """Adds `baton plan`, `baton trace` and `baton air-traffic`; other commands need not wait for their modules to load."""
    if arguments[0] in {"plan", "-h", "--help"}:
        from baton import plan

        app.add_typer(plan.app, name="plan")
    if arguments[0] in {"trace", "-h", "--help"}:
        from baton import trace_import

        app.add_typer(trace_import.app, name="trace")
    if arguments[0] in {"air-traffic", "-h", "--help"}:
        from baton import air_traffic

        app.add_typer(air_traffic.app, name="air-traffic")


def main() -> None:
    """Runs a command and ends with its exit status: the entry point."""
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
        add_groups(arguments)
        status: int = app(arguments, prog_name="baton", standalone_mode=False) or 0
        print(end="", flush=True)
    except (KeyboardInterrupt, typer.Abort):
        return fail("interrupted", 130, arguments)
    except SystemExit as error:  # called for by a class in Python, which does not end the program
        broken = error.__context__  # of which typer makes an exit
        if isinstance(broken, BrokenPipeError) and streams.reader_is_gone():
            raise broken from None
        traceback.print_exception(error)
        return fail(f"the run was ended by SystemExit: {error}", 1, arguments)
    except Exception as error:
        if isinstance(error, BrokenPipeError) and streams.reader_is_gone():
            raise
        return fail(*(describe(error) or unexpected(error)), arguments)
    return status


def unexpected(error: Exception) -> tuple[str, int]:
    """Returns message and exit status of an unforeseen error: in a user's Python class, or a mistake in Baton."""
    from baton.classes import FILES

    if any(frame.filename in FILES for frame in traceback.extract_tb(error.__traceback__)):
        traceback.print_exception(error)
        return f"the scenario's Python class failed: {type(error).__name__}: {error}", 1
    with tempfile.NamedTemporaryFile("w", prefix="baton-error-", suffix=".txt", delete=False) as file:
        file.write(f"baton {' '.join(sys.argv[1:])}\n")
        traceback.print_exception(error, file=file)
    return f"internal error ({type(error).__name__}: {error}); please report it, with {file.name}", 1


def describe(error: Exception) -> tuple[str, int] | None:
    """Returns message and exit status of an error that a user can cause; nothing for a mistake in Baton."""
    if isinstance(error, (FolderError, InputError, ScenarioError)):
        return str(error), 2
    if isinstance(error, TyperException):  # a wrong use of the command line
        return error.format_message(), 2
    if isinstance(error, Interrupted):
        return str(error), 130
    if isinstance(error, BatonError):
        return str(error), 1
    if isinstance(error, OSError):
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
