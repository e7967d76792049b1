"""The group of commands: loads a command when it is called, and turns errors into one line."""

from __future__ import annotations

import os
import re
import signal
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from importlib import import_module
from types import FrameType
from typing import Any, NoReturn

import click

from calibrant._version import __version__
from calibrant.exceptions import CalibrantError

DEBUG = "CALIBRANT_DEBUG"


class CommandGroup(click.Group):
    """A group whose commands are modules, each with an attribute ``command``.

    Parameters
    ----------
    commands
        Module of each command name, or one such mapping for each heading of the help.
    name, help, short_help, epilog
        As for `click.Group`.
    """

    def __init__(
        self,
        *,
        name: str,
        help: str,
        commands: Mapping[str, str] | Mapping[str, Mapping[str, str]],
        short_help: str | None = None,
        epilog: str | None = None,
    ) -> None:
        version = click.version_option(__version__, prog_name="calibrant", message="%(prog)s %(version)s")
        settings = {"help_option_names": ["-h", "--help"], "show_default": True}
        super().__init__(
            name=name, help=help, short_help=short_help, epilog=epilog, context_settings=settings
        )
        version(self)
        self._headings: dict[str, dict[str, str]] = {}
        for key, value in commands.items():
            heading, more = ("Commands", {key: value}) if isinstance(value, str) else (key, value)
            self._headings.setdefault(heading, {}).update(more)
        self._modules = {name: module for names in self._headings.values() for name, module in names.items()}

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments; the command without arguments shows the help."""
        if not all(map(str.isascii, args)):  # results contain the names of files, and have to be UTF-8
            from calibrant.io.origin import check_name

            for argument in args:
                check_name(argument)
        return super().parse_args(ctx, args or ["--help"])

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands, in order."""
        return list(self._modules)

    def modules(self) -> dict[str, str]:
        """Return the module of each command."""
        return dict(self._modules)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command of the first argument; the error for an unknown one names the nearest."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            near = get_close_matches(args[0], self._modules, 1)
            if not near:
                raise
            message = f"{error.message.removesuffix('.')}; did you mean {near[0]}?"
            raise click.UsageError(message, ctx) from None

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command, imported on first use."""
        if cmd_name not in self._modules:
            return None
        try:
            command: click.Command = import_module(self._modules[cmd_name]).command
        except ModuleNotFoundError as error:
            from calibrant.parts import PARTS, is_here

            missing = [
                part for part in PARTS if f"{error.name}.".startswith(f"{part}.") and not is_here(part)
            ]
            if not missing:  # the package is installed, and damaged
                raise
            return _not_here(self.name, cmd_name, missing[0])
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands into the help, under their headings."""
        longest = max(map(len, self._modules))
        limit = formatter.width - 6 - longest
        for heading, names in self._headings.items():
            commands = [(name.ljust(longest), self.get_command(ctx, name)) for name in names]
            rows = [(name, command.get_short_help_str(limit)) for name, command in commands if command]
            with formatter.section(heading):
                formatter.write_dl(rows)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; an interrupt is raised as `click.Abort`, before which click prints nothing.

        An error about a parameter then names the option that sets it.
        """
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise click.Abort from None
        except CalibrantError as error:
            command = self.get_command(ctx, ctx.invoked_subcommand or "")
            name, is_, value = error.message.partition(" is ")
            options = (
                {name for option in command.params for name in option.opts} if command is not None else ()
            )
            if error.code == "parameter" and is_ and option_of(name) in options:
                error.message = f"{option_of(name)} is {value}"
            raise

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        """Run a command line and exit.

        The exit code is 0 for success, 2 for wrong usage or input, 3 if a condition of ``--fail-if`` is
        met, 130 or 143 if the command was stopped, and 1 for any other error.
        """
        extra |= {"complete_var": complete_var, "windows_expand_args": windows_expand_args}
        if not standalone_mode:
            return super().main(args=args, prog_name=prog_name, standalone_mode=False, **extra)
        received: list[int] = []
        try:
            with _stoppable(received):
                code = super().main(args=args, prog_name=prog_name, standalone_mode=False, **extra)
            sys.stdout.flush()
        except BrokenPipeError:
            # The reader has closed the pipe; the interpreter still flushes standard output at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(0)
        except (Exception, KeyboardInterrupt) as error:
            # A library that a signal interrupts while it is imported or compiles may raise any error.
            if received or isinstance(error, (KeyboardInterrupt, click.Abort)):
                _say("stopped")
                sys.exit(128 + (received[0] if received else signal.SIGINT))
            _fail(error)
        sys.exit(code if isinstance(code, int) else 0)


def _not_here(group: str | None, name: str, package: str) -> click.Command:
    """Return a command that says how to install the missing package of the named command."""
    from calibrant.parts import PARTS

    title = name if group in (None, "calibrant") else f"{group} {name}"

    def say() -> NoReturn:
        from calibrant.exceptions import MissingExtraError

        raise MissingExtraError(f"calibrant {title} needs {package}", PARTS[package])

    takes_all = {"ignore_unknown_options": True, "allow_extra_args": True, "allow_interspersed_args": False}
    remark = f"Not installed: {PARTS[package]}."
    return click.Command(name, callback=say, context_settings=takes_all, short_help=remark)


@contextmanager
def _stoppable(received: list[int]) -> Iterator[None]:
    """Make SIGTERM end the command as Ctrl-C does, so that incomplete files are removed."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(number: int, frame: FrameType | None) -> NoReturn:
        received.append(number)
        sys.unraisablehook = lambda unraisable: None  # errors of objects that the signal left incomplete
        raise KeyboardInterrupt

    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    before = {
        number: handler for number, handler in handlers.items() if handler not in (signal.SIG_IGN, None)
    }
    for number in before:
        signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _fail(error: Exception) -> NoReturn:
    """Print the error in one line, and exit."""
    from calibrant.exceptions import CalibrantError, InputError

    if os.environ.get(DEBUG):
        import traceback

        traceback.print_exc()
    if isinstance(error, click.UsageError):
        command = error.ctx.command_path if error.ctx is not None else "calibrant"
        message = error.format_message()
        if message.startswith("Got unexpected extra argument"):
            message += ": put a pattern of .parquet files in quotes" if ".parquet" in message else ""
            if command == "calibrant measure":
                message += "; to measure several models, run `calibrant report FILE FILE`"
        _say(f"{message} (see `{command} --help`)")
        sys.exit(2)
    if isinstance(error, click.ClickException):
        _say(error.format_message())
        sys.exit(2)
    if isinstance(error, CalibrantError):
        error.hint = _with_options(error.hint)
        _say(str(error))
        sys.exit(2 if isinstance(error, InputError) else 1)
    if isinstance(error, MemoryError):
        _say("not enough memory; use a smaller file, fewer --workers or --threads, or no --cluster")
    elif isinstance(error, OSError):
        _say(str(error))
    else:
        bug = f"a bug in calibrant; please report it with the traceback that {DEBUG}=1 shows"
        _say(f"{type(error).__name__}: {error} ({bug})")
    sys.exit(1)


# Options whose name differs from the parameter that they set.
OPTIONS = {
    "class_column": "class",
    "type_column": "type",
    "names": "name",
    "countries": "country",
    "methods": "method",
    "since": "from",
    "until": "to",
}


def option_of(parameter: str) -> str:
    """Return the option that sets a parameter.

    Examples
    --------
    >>> option_of("n_bins")
    '--n-bins'
    """
    return "--" + OPTIONS.get(parameter, parameter).replace("_", "-")


def _with_options(hint: str) -> str:
    """Replace the parameters in a hint by options.

    `seed` becomes --seed, `unit='day'` --unit day, `columns={'label': ...}` --label, and
    `columns={'form': 'long'}` --form long.
    """
    hint = re.sub(r"`columns=\{'(\w+)': \.\.\.\}`", r"`\1`", hint)
    hint = re.sub(r"`columns=\{'(\w+)': ('\w+')\}`", r"`\1=\2`", hint)

    def named(match: re.Match[str]) -> str:
        name, value = match.groups()
        if value == "False":
            return option_of(f"no_{name}")
        return option_of(name) + (f" {value.strip(chr(39))}" if value not in (None, "True") else "")

    return re.sub(r"`(\w+)(?:=('[^'`]*'|\w+))?`", named, hint)


def _say(message: str) -> None:
    from calibrant.exceptions import printable

    click.echo(f"calibrant: {printable(' '.join(message.split()))}", err=True)
