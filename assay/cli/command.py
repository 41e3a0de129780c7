"""A click command from a function: its options are the parameters that a `Flag` annotates.

Options are declared once, by the public function; options that only the command line has are
declared by the function that click calls.
"""

from __future__ import annotations

import inspect
import sys
import types
from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import (
    Annotated,
    Any,
    Literal,
    NamedTuple,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import click
from click.core import ParameterSource

from assay.cli import options
from assay.core.errors import UsageError
from assay.core.options import Argument, Flag
from assay.core.units import as_choice, as_integer, as_number
from assay.reporting.output import FORMATS

Keywords = dict[str, Any]  # the options of the public function, to be passed on to it
Read = Callable[[Any, str], object]


class DeclaredOption(NamedTuple):
    """A parameter of a function that is an option or argument of the command line."""

    name: str
    kind: Any  # its type
    about: Flag | Argument
    default: Any
    flag: str  # unless `about` names others


def click_command(
    *apis: Callable[..., Any],
    name: str | None = None,
    group: click.Group | None = None,
    cls: type[ReadCommand] | None = None,
    without: Sequence[str] = (),
    separator: str = "-",
    **settings: Any,
) -> Callable[[Callable[..., int | None]], click.Command]:
    """Decorator: a command with the options of public functions or records, and of its function.

    The decorated function gets the options of `apis` in its parameter annotated `Keywords`. A
    parameter with the name of an option of `apis` gets that option too; options in `without` are
    passed only this way. `separator` joins the words of a flag: `_` in older tools. `settings` are
    those of `click.command`.
    """

    def decorate(run: Callable[..., int | None]) -> click.Command:
        parts = inspect.signature(run).parameters
        inherited = [part for api in apis for part in declared_options(api, separator)]
        inherited = [part for part in inherited if part.name not in without or part.name in parts]
        own = declared_options(run, separator)
        known = [
            *own,
            *(part for part in inherited if part.name not in {option.name for option in own}),
        ]
        rest = next((name for name, part in parts.items() if _is_keywords(part)), "")

        def arguments(values: Mapping[str, Any]) -> dict[str, Any]:
            values = {part.name: _value(part, values[part.name]) for part in known}
            passed = {name: values[name] for name in parts if name in values}
            if rest:
                names = (part.name for part in inherited if part.name not in without)
                passed[rest] = {name: values[name] for name in names}
            return passed

        params = [_parameter(part) for part in known]
        command = click.command(name, cls=cls or ReadCommand, params=params, **settings)(run)
        command.arguments = arguments
        if group:
            group.add_command(command)
        return command

    return decorate


def declared_options(function: Callable[..., Any], separator: str = "-") -> list[DeclaredOption]:
    """The parameters of a function that are annotated by a Flag or an Argument.

    The return annotation is not evaluated: its type may load numpy, or be there for type checkers.
    """
    texts = {name: hint for name, hint in function.__annotations__.items() if name != "return"}
    scope = vars(sys.modules[function.__module__])
    hints = get_type_hints(SimpleNamespace(__annotations__=texts), scope, include_extras=True)
    known = []
    for name, part in inspect.signature(function).parameters.items():
        if get_origin(hints.get(name)) is Annotated:
            kind, about = get_args(hints[name])[:2]
            flag = f"--{name.rstrip('_').replace('_', separator)}"
            known.append(DeclaredOption(name, kind, about, part.default, flag))
    return known


def typed_flags(but: Sequence[str] = ()) -> list[str]:
    """Options that were typed, not left at their defaults; without those named."""
    context = click.get_current_context()
    return [
        max(part.opts, key=len)
        for part in context.command.params
        if isinstance(part, click.Option)
        and part.name not in but
        and context.get_parameter_source(str(part.name)) is ParameterSource.COMMANDLINE
    ]


class ReadCommand(click.Command):
    """Reads its values when it parses them, so that no wrapper is on the stack while it runs."""

    arguments: Callable[[Mapping[str, Any]], dict[str, Any]]  # of the function, from click's values

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        left = super().parse_args(ctx, args)
        if not ctx.resilient_parsing:  # else a word is being completed
            ctx.params = self.arguments(ctx.params)
        return left


class CheckedChoice(click.Choice[str]):
    """Choices that are checked by the same function, and with the same sentence, as in Python."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        return as_choice(value, str(param.name if param else "it"), self.choices)


class CheckedIntRange(click.IntRange):
    """A range that is checked by the same function, and with the same sentence, as in Python."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        number = click.INT.convert(value, param, ctx)
        return as_integer(number, str(param.name if param else "it"), self.min, self.max)


class CheckedFloatRange(click.FloatRange):
    """The same for numbers that are no integers."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        number = click.FLOAT.convert(value, param, ctx)
        return as_number(number, str(param.name if param else "it"), self.min, self.max)


def _is_keywords(part: inspect.Parameter) -> bool:
    return part.annotation in (Keywords, "Keywords")


def _parameter(part: DeclaredOption) -> click.Parameter:
    if isinstance(part.about, Argument):
        return _argument(part, part.about)
    return _option(part, part.about)


def _argument(part: DeclaredOption, about: Argument) -> click.Argument:
    kind, many = _kind(part.kind)
    required = about.required
    if required is None:
        required = part.default is inspect.Parameter.empty and not many
    return click.Argument(
        [part.name],
        type=_click_type(kind, Flag("")),
        nargs=-1 if many else 1,
        required=required,
        metavar=about.metavar,
        shell_complete=options.completer(about.complete),
        **({} if many or required else {"default": part.default}),
    )


def _option(part: DeclaredOption, about: Flag) -> click.Option:
    names = [*about.flags.split(), part.name] if about.flags else [part.flag, part.name]
    kind, many = _kind(part.kind)
    many = _READERS[about.read].multiple if about.read else many
    has_default = part.default not in (inspect.Parameter.empty, None, "", ())
    settings: dict[str, Any] = {
        "help": about.help,
        "required": about.required,
        "metavar": about.metavar or None,
        "envvar": about.envvar or None,
    }
    if about.show_default is not None:
        settings["show_default"] = about.show_default
    if kind is bool and not about.read:
        turns_off = _turns_off(part)
        default = False if turns_off or not has_default else part.default
        return click.Option(names, is_flag=True, default=default, **settings)
    if has_default and part.default not in (0, False):
        settings.setdefault("show_default", True)
    if (has_default or part.default == "") and not about.required:
        settings["default"] = part.default
    if about.read == "truth":
        settings |= {"is_flag": False, "flag_value": "true", "default": str(part.default).lower()}
        settings |= {"show_default": False, "metavar": about.metavar or "[True|False]"}
    return click.Option(
        names,
        type=_click_type(kind, about),
        multiple=many,
        callback=_store_before if about.read == "store" else None,
        shell_complete=options.completer(about.complete),
        **settings,
    )


def _turns_off(part: DeclaredOption) -> bool:
    """Whether the flag stands for False: `--any-outputs` of `outputs: bool = True`."""
    about = part.about
    return (
        isinstance(about, Flag) and part.kind is bool and part.default is True
    ) and "/" not in about.flags


def _kind(hint: Any) -> tuple[Any, bool]:
    """The type of a value, and whether there are several: `Sequence[int] | None` → int, True."""
    if get_origin(hint) in (Union, types.UnionType):
        parts = [part for part in get_args(hint) if part is not type(None)]
        many = [part for part in parts if _is_many(part)]
        return (str, True) if many else (parts[0] if len(parts) == 1 else str, False)
    if _is_many(hint):
        inner = get_args(hint)[:1] or (str,)
        return (str if _is_mapping(hint) else inner[0]), True
    return hint, False


def _is_many(hint: Any) -> bool:
    origin = get_origin(hint)
    return isinstance(origin, type) and issubclass(origin, Sequence | Mapping)


def _is_mapping(hint: Any) -> bool:
    return issubclass(get_origin(hint), Mapping)


def _click_type(kind: Any, about: Flag) -> click.ParamType[Any] | type:
    if about.choices:
        return CheckedChoice(_CHOICES[about.choices]())
    if get_origin(kind) is Literal:
        return CheckedChoice(get_args(kind))
    if kind in (int, float) and (about.min is not None or about.max is not None):
        return _range(kind, about.min, about.max)
    return kind if kind in (int, float) else str


def _range(kind: type, low: float | None, high: float | None) -> click.ParamType[Any]:
    if kind is float:
        return CheckedFloatRange(low, high)
    return CheckedIntRange(None if low is None else int(low), None if high is None else int(high))


def _store_before(ctx: click.Context, _: click.Parameter, value: str | None) -> str | None:
    """What a command was called with, or what stands before it: `assay --store URL COMMAND`."""
    before: str | None = ctx.find_root().params.get("store")
    if value and before:
        raise UsageError(
            "Two stores were given: one before the command and another after it.",
            hint="Give one; $ASSAY_HOME is the folder that data and logs of this machine go to.",
        )
    return value or before


def _value(part: DeclaredOption, value: Any) -> Any:
    """What click read, as the function takes it."""
    if isinstance(part.about, Argument):
        return value
    if part.about.read:
        return _READERS[part.about.read].read(value, (part.about.flags or part.flag).split()[-1])
    return not value if _turns_off(part) else value


class Reader(NamedTuple):
    multiple: bool
    read: Read


def _axes(texts: Sequence[str], flag: str) -> dict[str, list[str]]:
    return options.axes(options.pairs(texts, flag))


_READERS = {
    "store": Reader(False, lambda text, _: text),
    "text": Reader(False, lambda text, _: text),
    "pairs": Reader(True, options.pairs),
    "axes": Reader(True, _axes),
    "several": Reader(True, lambda texts, _: options.several(texts)),
    "list": Reader(False, lambda text, _: options.values(text) if text else ()),
    "sweep": Reader(False, lambda text, _: options.values(text) if text else ""),
    "needs": Reader(
        False, lambda text, flag: options.pairs(options.values(text), flag) if text else {}
    ),
    "truth": Reader(False, options.to_bool),
}
_CHOICES: dict[str, Callable[[], Sequence[str]]] = {"output_formats": lambda: FORMATS}
