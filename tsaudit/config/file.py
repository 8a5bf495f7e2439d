"""Reads `tsaudit.yaml`: finds it, validates it, fills in `${NAME}`, and reports all problems at once."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from pydantic import SecretStr, ValidationError

from tsaudit import secrets
from tsaudit.config import mistakes
from tsaudit.config.mistakes import contradictions, unused
from tsaudit.config.settings import Path as Place
from tsaudit.config.settings import Settings
from tsaudit.config.yaml_document import Document, DocumentError, Node, of, parse
from tsaudit.engines.registry import ENGINES
from tsaudit.errors import TsauditError
from tsaudit.net import addresses
from tsaudit.text import nearest, printable

DEFAULT_NAME: Final = "tsaudit.yaml"
VARIABLE: Final = "TSAUDIT_CONFIG"

_REFERENCE: Final = re.compile(r"\$\$\{|\$\{([^}]*)\}?")
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_FILE_URL: Final = re.compile(r"([a-z][a-z0-9+.-]*:///)([^?]+)(\?.*)?", re.DOTALL)


_WORD: Final = "tsaudit-{}-value"
"""Placeholder for a variable while an address is parsed."""


class ConfigError(TsauditError):
    """The file cannot be used. One line per problem, each with file and line, sorted by line."""

    def __init__(self, *problems: str) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


def find(path: str | Path | None = None) -> Path:
    """The file to read: `path`, otherwise the file named in TSAUDIT_CONFIG, otherwise `./tsaudit.yaml`.

    Raises ConfigError if it does not exist.
    """
    chosen = Path(path or os.environ.get(VARIABLE) or DEFAULT_NAME)
    if not chosen.exists():
        raise ConfigError(f"{printable(str(chosen))}: no such file; `tsaudit init` writes one")
    return chosen


def load(
    path: str | Path,
    *,
    resolve_env: bool = True,
    needs: Collection[str] | None = None,
    variables: Mapping[str, str] | None = None,
) -> Settings:
    """The settings in the file. Paths in it are relative to its folder. Raises ConfigError with every problem.

    `variables`: the values of `${NAME}`; None for the environment. If `resolve_env` is False, secrets keep their
    `${NAME}`, and so does other text whose variable is not set. That is enough to list targets, owners, and schedules,
    but not to connect. Values with a format (a number, a name, a schedule) need their variable anyway.

    `needs`: the top-level keys below which an unset variable is a problem; None for all. Below other keys, text keeps
    such a `${NAME}`, and so does that of a target, which then cannot be connected to: `Target.unset` says why. The
    others can.
    """
    file = Path(path)
    return _settings(_read(file), str(file), file.absolute().parent, resolve_env, variables, needs)


def load_content(content: bytes, path: str | Path) -> Settings:
    """The result of `load` for a file with this content at `path`, without reading the file; secrets keep their
    `${NAME}`.
    """
    file = Path(path)
    return _settings(_document(content, printable(str(file))), str(file), file.absolute().parent, resolve_env=False)


def load_mapping(
    data: Mapping[str, Any],
    *,
    label: str,
    folder: Path,
    resolve_env: bool = True,
    variables: Mapping[str, str] | None = None,
) -> Settings:
    """The result of `load` for a file with this content in `folder`. Problems name `label` and the key, but no line."""
    return _settings(of(data), label, folder.absolute(), resolve_env, variables)


def _settings(
    document: Document,
    label: str,
    folder: Path,
    resolve_env: bool,
    variables: Mapping[str, str] | None = None,
    needs: Collection[str] | None = None,
) -> Settings:
    reader = _Reader(label, document, resolve_env, variables, needs)
    settings = reader.settings()
    if reader.problems or settings is None:
        raise ConfigError(*reader.lines())
    if resolve_env:
        _remember(settings, reader.unset)
        for number, why in reader.of_targets():
            settings.targets[number].refuse(why)
    return _anchored(settings, folder)


def _remember(settings: Settings, unset: Collection[str]) -> None:
    """Mask the secrets in the settings in all future output; values of `${NAME}` are already masked. `unset`: names of
    variables whose `${NAME}` is still there, and is no secret.
    """

    def secret(value: SecretStr | None) -> str:
        text = value.get_secret_value() if value else ""
        for name in unset:
            text = text.replace(f"${{{name}}}", "")
        return text

    secrets.show(*(target.name for target in settings.targets))
    logins = [(target.username, secret(target.password)) for target in settings.targets]
    urls = [addresses.read(secret(url)) for url in (settings.history, *(target.url for target in settings.targets))]
    logins += [(unquote(url.username or ""), unquote(url.password or "")) for url in urls if url]
    passwords = {password.lower() for _, password in logins}
    # Statements to copy name a user, who may be called like the beginning of a password. A user without one may be a
    # token.
    secrets.show(*(user for user, password in logins if user and password and user.lower() not in passwords))
    for target in settings.targets:
        secrets.remember_login(target.username, secret(target.password))
        is_token = ENGINES[target.engine].signs_in_by_token
        secrets.remember(*addresses.secrets_in(secret(target.url), user_is_token=is_token))
    secrets.remember(*addresses.secrets_in(secret(settings.history)))
    secrets.remember(*addresses.secrets_in(settings.report.folder))
    secrets.remember(secret(settings.slack.token))
    secrets.remember(addresses.secret_path(secret(settings.slack.webhook)))


def advice(path: str | Path) -> tuple[str, ...]:
    """Warnings about the file, one line each. Raises ConfigError.

    Reported are secrets in plain text that should be `${NAME}`, and patterns and limits that nothing in the file
    matches.
    """
    file = Path(path)
    document = _read(file)
    idle = unused(_Reader(str(file), document, False).data())
    found = [(document.line(place), f"{mistakes.place(place)}: {text}") for place, text in idle]
    found += [
        (
            document.line(place),
            f"{mistakes.place(place)}: a secret in plain text; write ${{NAME}} and export NAME",
        )
        for place, text in _texts(document)
        if _is_secret(place) and "${" not in text and _reveals(place, text)
    ]
    return tuple(f"{printable(str(file))}:{line}: {text}" for line, text in sorted(found))


def target_lines(path: str | Path) -> dict[str, int]:
    """The line of each target in the file, by the target's name. Raises ConfigError."""
    document = _read(Path(path))
    targets = _Reader(str(path), document, False).data().get("targets") or ()
    named = [(n, one["name"]) for n, one in enumerate(targets) if isinstance(one, dict) and "name" in one]
    return {str(name): document.line(("targets", n)) for n, name in named}


def json_schema() -> dict[str, Any]:
    """JSON schema of the file, for completion and validation in editors."""
    schema = Settings.model_json_schema()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": "tsaudit.yaml"}


def _read(file: Path) -> Document:
    label = printable(str(file))
    try:
        return _document(file.read_bytes(), label)
    except OSError as error:
        raise ConfigError(f"{label}: cannot be read: {error.strerror or error}") from error


def _document(content: bytes, label: str) -> Document:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{label}:{line}: is not UTF-8 text; save the file as UTF-8") from error
    try:
        document = parse(text)
    except DocumentError as error:
        raise ConfigError(f"{label}:{error.line}: {printable(error.problem, 300)}") from error
    if not document.root.value and not isinstance(document.root.value, list | str):
        raise ConfigError(f"{label}:1: is empty; begin it with `targets:`, or let `tsaudit init` write it")
    if not isinstance(document.root.value, dict):
        raise ConfigError(f"{label}:{document.root.line}: expected `key: value` lines, such as `targets:`")
    return document


class _Reader:
    """Turns the document into settings and collects the problems."""

    def __init__(
        self,
        label: str,
        document: Document,
        resolve_env: bool,
        variables: Mapping[str, str] | None = None,
        needs: Collection[str] | None = None,
    ) -> None:
        self._label = printable(label)
        self._document = document
        self._resolve_env = resolve_env
        self._needs = needs
        self._variables = os.environ if variables is None else variables
        self._missing = mistakes.unset if variables is None else mistakes.not_passed
        self._unset: dict[Place, tuple[str, ...]] = {}
        """Place to variables, for references that are kept because their variable is not set."""
        self.unset: set[str] = set()
        """The names of all these variables."""
        self._reported: set[Place] = set()
        """Places that already have a reported problem."""
        self._built: dict[int, Any] = {}
        self.problems = set(document.problems)

    def settings(self) -> Settings | None:
        """The document as settings; None if there are errors, which are then in `problems`."""
        data = self.data()
        for place, problem in dict(contradictions(data)).items():
            self._add(place, self._missing(*self._unset[place]) if place in self._unset else problem)
        try:
            return Settings.model_validate(data)
        except ValidationError as error:
            self._explain_all(error.errors(include_url=False))
            return None

    def data(self) -> Any:
        """The document as plain Python values, with references filled in where possible."""
        return self._value(self._document.root, ())

    def of_targets(self) -> Iterator[tuple[int, str]]:
        """For each target with a variable that is not set: its number, and what to do."""
        missing: dict[int, dict[str, Place]] = {}
        for place, names_here in self._unset.items():
            if place[0] == "targets" and isinstance(place[1], int):
                for name in names_here:
                    missing.setdefault(place[1], {}).setdefault(name, place)
        for number, names in missing.items():
            place = next(iter(names.values()))
            yield number, self._line(self._document.line(place), f"{mistakes.place(place)}: {self._missing(*names)}")

    def _line(self, line: int, text: str) -> str:
        return f"{self._label}{f':{line}' if line else ''}: {printable(text, 400)}"

    def lines(self) -> list[str]:
        """The problems, sorted by line."""
        # An address at a place where none belongs would be quoted together with its credentials.
        for place, text in _texts(self._document):
            if not _is_address(place):
                secrets.remember(*addresses.tokens_in(text))
        return [self._line(line, text) for line, text in sorted(self.problems)]

    def _add(self, place: Place, problem: str, named: Place | None = None) -> None:
        """Add a problem. `named`: the place to name in the message, if not `place` itself."""
        name = mistakes.place(place if named is None else named)
        self._reported.add(place)
        self.problems.add((self._document.line(place), f"{name}: {problem}" if name else problem))

    def _value(self, node: Node, place: Place) -> Any:
        """The plain Python value of a node, with references filled in. A value shared by several aliases is
        built once.
        """
        if node.value is None:
            if node.is_comment and (problem := mistakes.comment(place)):
                self._add(place, problem)
            return None
        if isinstance(node.value, str):
            return self._filled(node.value, place)
        if id(node) not in self._built:
            entries = node.value.items() if isinstance(node.value, dict) else enumerate(node.value)
            built = {key: self._value(child, (*place, key)) for key, child in entries}
            self._built[id(node)] = built if isinstance(node.value, dict) else list(built.values())
        return self._built[id(node)]

    def _filled(self, text: str, place: Place) -> str:
        values: dict[str, str] = {}

        def one(match: re.Match[str]) -> str:
            if match[0] == "$${":
                return "${"
            name = match[1]
            if not match[0].endswith("}") or not _NAME.fullmatch(name):
                self._add(
                    place,
                    ("write a reference as ${NAME}, with letters, digits, and _; for the text ${ itself write $${"),
                )
                return match[0]
            if not self._resolve_env and _is_login(place):
                return match[0]
            if (value := self._variables.get(name)) is not None:
                values[name] = value
                return value
            self._unset[place] = (*self._unset.get(place, ()), name)
            self.unset.add(name)
            if self._resolve_env and self._is_needed(place):
                self._add(place, self._missing(name))
            return match[0]

        filled = _REFERENCE.sub(one, text)
        template = _REFERENCE.sub(lambda match: _WORD.format(match[1]) if match[1] in values else match[0], text)
        self._guard(place, filled, template, values)
        return filled

    def _is_needed(self, place: Place) -> bool:
        """Whether the value at the place is used, so that its variable must be set. Those of targets are, but what one
        of them lacks must not keep the others from being audited.
        """
        return place[0] != "targets" and (self._needs is None or place[0] in self._needs)

    def _guard(self, place: Place, filled: str, template: str, values: Mapping[str, str]) -> None:
        """Remember the values of `${NAME}` that are secret, and reject an address that its credentials make ambiguous.

        A path, a host, a bucket, or a name from a variable is not a secret: reports have to show it.
        """
        is_address = _is_address(place)
        words = {_WORD.format(name): value for name, value in values.items()}
        # An address that still contains references is never used to connect.
        ambiguous = is_address and "${" not in filled and addresses.is_ambiguous(filled, template, words)
        for name, (word, value) in zip(values, words.items(), strict=True):
            if is_address and template == word and not ambiguous:
                engine = ENGINES.get(self._document.text((*place[:2], "engine")) or "") if len(place) > 2 else None
                is_token = engine is None or engine.signs_in_by_token
                secrets.remember(*addresses.secrets_in(value, user_is_token=is_token))
                continue
            if is_address and addresses.in_file_path(template, word):
                continue  # Whatever the variable is called: the PWD of a shell is not a password.
            as_credential = ambiguous or addresses.in_secret_part(template, word) if is_address else _is_login(place)
            if _is_of_notifier(place) and addresses.read(value) is not None:
                # Masking the whole address would also mask its scheme and host in all other texts.
                secrets.remember(*addresses.tokens_in(value))
            elif as_credential or addresses.names_a_secret(name):
                secrets.remember(addresses.secret_path(value) if place[-1:] == ("webhook",) else value)
        if ambiguous:
            hint = addresses.TARGET_HINT if place[-1] == "url" else addresses.OTHER_HINT
            self._add(place, f"the address {addresses.AMBIGUOUS}{hint}")

    def _explain_all(self, items: Sequence[Mapping[str, Any]]) -> None:
        """Add a problem for each item that is not just a consequence of another one."""
        unknown = [item["loc"] for item in items if item["type"] == "extra_forbidden"]
        for item in items:
            if item["type"] == "extra_forbidden":
                place, value = item["loc"], item["input"]
                named = place[:-1] if mistakes.lacks_blank(place, value) else place
                self._add(place, mistakes.unknown_key(place, value), named=named)
        unreadable = {line for line, _ in self._document.problems if line}
        for item in items:
            place = tuple(part for part in item["loc"] if part != "[key]")
            is_misspelled = item["type"] == "missing" and any(
                key[:-1] == place[:-1] and nearest(str(key[-1]), [str(place[-1])]) for key in unknown
            )
            if not (place in self._reported or is_misspelled or self._document.line(place) in unreadable):
                self._explain(item, place)

    def _explain(self, item: Mapping[str, Any], place: Place) -> None:
        if place in self._unset:
            self._add(place, self._missing(*self._unset[place]))
        elif item["type"] == "too_short" and item["input"]:
            return  # Its entries are invalid, and pydantic counts only valid ones.
        else:
            written = None if _is_login(place) else self._document.text(place)
            self._add(place, mistakes.problem(item, place, written))


def _is_secret(place: Place) -> bool:
    """Whether the value at the place must not appear in messages; `limits` and similar keys contain only numbers."""
    return bool(place) and place[-1] in ("url", "password", "token", "webhook", "history")


def _is_address(place: Place) -> bool:
    """Whether the value at the place is an address that may contain credentials. A webhook's address is completely
    secret.
    """
    return bool(place) and (place[-1] in ("url", "history") or place[-2:] == ("report", "folder"))


def _is_of_notifier(place: Place) -> bool:
    """Whether the place is a setting of a notifier: only the notifier knows which of its settings are secret."""
    return place[:1] == ("notifiers",) and len(place) > 2


def _is_login(place: Place) -> bool:
    return _is_secret(place) or _is_of_notifier(place)


def _texts(document: Document) -> Iterator[tuple[Place, str]]:
    """Every text in the file with its place; a value shared by several aliases appears once."""
    seen: set[int] = set()
    waiting: list[tuple[Place, Node]] = [((), document.root)]
    while waiting:
        place, node = waiting.pop()
        if isinstance(node.value, str):
            yield place, node.value
        elif node.value is not None and id(node) not in seen:
            seen.add(id(node))
            entries = node.value.items() if isinstance(node.value, dict) else enumerate(node.value)
            waiting += [((*place, key), child) for key, child in entries]


def _reveals(place: Place, text: str) -> bool:
    """Whether the text itself is secret. An address is secret only if it contains a password."""
    if place[-1] not in ("url", "history"):
        return True
    try:
        return bool(urlsplit(text).password)
    except ValueError:
        return "@" in text


def _anchored(settings: Settings, folder: Path) -> Settings:
    """The same settings with every relative file path made absolute from `folder`."""
    history = settings.history.get_secret_value()
    is_sqlite = history.startswith("sqlite")
    report = settings.report.folder
    if "://" not in report:
        report = _absolute(report, folder)
    targets = tuple(
        t.model_copy(update={"url": SecretStr(anchored_url(t.url.get_secret_value(), folder))})
        if ENGINES[t.engine].is_a_file
        else t
        for t in settings.targets
    )
    return settings.model_copy(
        update={
            "history": SecretStr(anchored_url(history, folder)) if is_sqlite else settings.history,
            "report": settings.report.model_copy(update={"folder": report}),
            "targets": targets,
        }
    )


def anchored_url(url: str, folder: Path) -> str:
    """The address of a file with its path made absolute from `folder`; other URLs do not change."""
    match = _FILE_URL.fullmatch(url)
    if match is None or match[2].startswith((":", "file:", "md:", "${")):
        return url
    return f"{match[1]}{_absolute(match[2], folder)}{match[3] or ''}"


def _absolute(path: str, folder: Path) -> str:
    """`path` relative to `folder`; a leading `~` is a home folder, if that user exists."""
    try:
        return os.path.normpath(folder / Path(path).expanduser())
    except RuntimeError:
        return os.path.normpath(folder / path)
