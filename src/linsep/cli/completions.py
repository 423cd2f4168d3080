"""``linsep completions``: commands and options for the Tab key of bash, zsh and fish."""

from __future__ import annotations

import argparse
from argparse import Namespace

from linsep.cli.common import ALGORITHMS, emit
from linsep.data.lectures import available


def run(args: Namespace) -> int:
    """Print the script of a shell, made of the parser itself."""
    from linsep.cli.main import parser

    whole = parser()
    commands, values = _commands(whole), _values(whole)
    if args.json:
        emit(
            {name: [option for option, _ in options] for name, (_, options) in commands.items()},
            as_json=True,
        )
        return 0
    emit({"bash": _bash, "zsh": _zsh, "fish": _fish}[args.shell](commands, values), as_json=False)
    return 0


Commands = dict[str, tuple[str, list[tuple[str, str]]]]


def _commands(parser: argparse.ArgumentParser) -> Commands:
    """Each command with its sentence and its options."""
    action = next(a for a in parser._actions if isinstance(a, argparse._SubParsersAction))
    said = {one.dest: one.help or "" for one in action._choices_actions}
    found: Commands = {}
    for name, command in action.choices.items():
        options = [
            (option, one.help or "")
            for one in command._actions
            for option in one.option_strings
            if one.help != argparse.SUPPRESS
        ]
        found[name] = said.get(name, ""), options
    return found


def _values(parser: argparse.ArgumentParser) -> dict[str, list[str]]:
    """The words that may follow an option, or the command of which they are the argument."""
    action = next(a for a in parser._actions if isinstance(a, argparse._SubParsersAction))
    found = {"-a|--algorithm": list(ALGORITHMS)}
    for name, command in action.choices.items():
        for one in command._actions:
            if one.choices is not None:
                found["|".join(one.option_strings) or name] = [str(word) for word in one.choices]
    return found


def _bash(commands: Commands, values: dict[str, list[str]]) -> str:
    cases = "\n".join(
        f'    {name}) words="{" ".join(option for option, _ in options)}" ;;'
        for name, (_, options) in commands.items()
    )
    follow = "\n".join(
        f'    {before}) COMPREPLY=($(compgen -W "{" ".join(words)}" -- "$word")); return ;;'
        for before, words in values.items()
    )
    return f"""\
# bash: eval "$(linsep completions bash)", or put it in ~/.local/share/bash-completion/completions
_linsep() {{
  local word="${{COMP_WORDS[COMP_CWORD]}}" before="${{COMP_WORDS[COMP_CWORD-1]}}" words=""
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "{" ".join(commands)} --help --version" -- "$word"))
    return
  fi
  case "$before" in
{follow}
  esac
  case "${{COMP_WORDS[1]}}" in
{cases}
  esac
  if [[ "$word" == -* ]]; then
    COMPREPLY=($(compgen -W "$words" -- "$word"))
  else
    COMPREPLY=($(compgen -f -- "$word") $(compgen -W "{" ".join(available())}" -- "$word"))
  fi
}}
complete -o filenames -F _linsep linsep"""


def _zsh(commands: Commands, values: dict[str, list[str]]) -> str:
    named = "\n".join(f"    '{name}:{_quoted(said)}'" for name, (said, _) in commands.items())
    cases = "\n".join(
        f"    {name}) options=({' '.join(option for option, _ in options)}) ;;"
        for name, (_, options) in commands.items()
    )
    follow = "\n".join(
        f"    {before}) compadd -- {' '.join(words)}; return ;;" for before, words in values.items()
    )
    return f"""\
#compdef linsep
# zsh: put it in a folder of $fpath under the name _linsep, or: eval "$(linsep completions zsh)"
_linsep() {{
  local -a commands options
  commands=(
{named}
  )
  if (( CURRENT == 2 )); then
    _describe 'command' commands
    return
  fi
  case "$words[CURRENT-1]" in
{follow}
  esac
  case "$words[2]" in
{cases}
  esac
  if [[ "$PREFIX" == -* ]]; then
    compadd -- $options
  else
    _files
    compadd -- {" ".join(available())}
  fi
}}
(( $+functions[compdef] )) && compdef _linsep linsep"""


def _fish(commands: Commands, values: dict[str, list[str]]) -> str:
    lines = [
        "# fish: linsep completions fish > ~/.config/fish/completions/linsep.fish",
        f"set -l commands {' '.join(commands)}",
    ]
    for name, (said, options) in commands.items():
        lines.append(
            'complete -c linsep -n "not __fish_seen_subcommand_from $commands" '
            f"-a {name} -d '{_quoted(said)}'"
        )
        for option, words in options:
            kind = f"-l {option[2:]}" if option.startswith("--") else f"-s {option[1:]}"
            lines.append(
                f'complete -c linsep -n "__fish_seen_subcommand_from {name}" {kind} '
                f"-d '{_quoted(words)}'"
            )
    for before, chosen in values.items():
        given = before.split("|") if before not in commands else []
        having = [name for name, (_, options) in commands.items() if set(given) & {*dict(options)}]
        seen = " ".join(having) if given else before
        names = "".join(f" -l {o[2:]}" if o.startswith("--") else f" -s {o[1:]}" for o in given)
        lines.append(
            f'complete -c linsep -n "__fish_seen_subcommand_from {seen}"{names} -x '
            f"-a '{' '.join(chosen)}'"
        )
    return "\n".join(lines)


def _quoted(text: str) -> str:
    """Inside of single quotes, without what ends a description."""
    return text.replace("'", "").replace(":", " ").replace("%%", "%")
