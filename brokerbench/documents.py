"""Writes the parts of docs/ that repeat declarations: ``make docs``. A test fails if a page differs from them.

docs/summary.schema.json and docs/figures.md are generated as a whole (`records.documents`). The other pages have
generated parts between ``<!-- NAME: written by make docs -->`` and ``<!-- end -->``. The text of each row is at the
declaration: in the docstring below a field, or in a function's docstring.
"""

import ast
import inspect
import json
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import partial
from itertools import pairwise
from typing import Any, get_args, get_type_hints

from brokerbench import api
from brokerbench.compare.session import variable_options
from brokerbench.locustfiles import questions
from brokerbench.manual import statements_text
from drivers.failover.uri import OPENWIRE, OPTION_FIELDS, FailoverOptions, written
from drivers.users import ConsumerUser, ProducerUser
from drivers.users.broker_user import BrokerUser
from harness import checks, faults
from harness.faults import KINDS
from harness.faults.contract import FOREVER, Fault
from harness.options.declarations import LOAD, OF_LOCUST, OPTIONS, SCENARIOS_OWN, SECTIONS, Option, Options
from harness.scenario import NeededLink
from records.documents import DOCS, DOCUMENTS
from records.tables.results import MEANINGS, RESULT_TABLES
from topologies.catalogue.lookup import entries
from topologies.model.client_groups import ClientGroup
from topologies.model.impairment import Impairment
from topologies.products import ENTRIES, PRODUCTS

IN_SHORT = re.compile(r"^\*\*In short\*\*: (.+?)\n\n", re.DOTALL | re.MULTILINE)
"""A paragraph of a scenario's page: the result, and whether a manual's claim held."""
PART = re.compile(r"(<!-- ([^\n]*): written by make docs -->\n\n)(.*?)(\n<!-- end -->\n)", re.DOTALL)


NEUTRAL = "topologies.model."


def _parts_of_files() -> Iterator[type]:
    """Yield the classes whose fields a topology file can have: client groups, and the products' own classes."""
    yield ClientGroup
    found: set[type] = set()
    waiting = [kind for product in PRODUCTS.values() for kind in (*product.brokers.values(), *product.links.values())]
    while waiting:
        part = waiting.pop(0)
        if part not in found and is_dataclass(part) and not part.__module__.startswith(NEUTRAL):
            found.add(part)
            yield part
            waiting += [kind for hint in get_type_hints(part).values() for kind in _classes_in(hint)]


def _classes_in(hint: Any) -> Iterator[type]:
    """Yield the classes in a type such as ``tuple[Acceptor, ...] | None``."""
    if isinstance(hint, type):
        yield hint
    for argument in get_args(hint):
        yield from _classes_in(argument)


FIELDS_OF = tuple(_parts_of_files())
"""The parts of a topology file."""
CODE = re.compile(r"`[^`]*`|(--[a-z][a-z-]+|\b\d+\.\d+\.\d+\b(?![.\d]))")
"""Text in code font, or text that needs it: an option, a version."""
MAPPINGS = ("transport_options", "properties")
SIGNS = ("", "#", ">")  # YAML does not read these as text without quotes
WIDTH = 140
API_KINDS = SCENARIOS, LINKS, CHECKS, FAULTS = ("scenarios", "needed links", "checks", "faults")
FOREVER_IS = "The `for_s` of a fault that lasts until the end of the run."


def field_docs(declaring: type) -> dict[str, str]:
    """Return the docstring below each field of a class, on one line."""
    (definition,) = ast.parse(textwrap.dedent(inspect.getsource(declaring))).body
    assert isinstance(definition, ast.ClassDef)
    return {
        declared.target.id: _one_line(below.value.value)
        for declared, below in pairwise(definition.body)
        if isinstance(declared, ast.AnnAssign) and isinstance(declared.target, ast.Name)
        if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant) and isinstance(below.value.value, str)
    }


def _one_line(text: str) -> str:
    return " ".join(text.split()).replace("``", "`")


def _marked(text: str) -> str:
    """Return terminal text with options and versions in code font."""
    return CODE.sub(lambda code: f"`{code[1]}`" if code[1] else code[0], text)


def _generate(make: Callable[..., str], *arguments: Any) -> str:
    """Return a part made from declarations. The last argument, the previous text, is ignored."""
    return make(*arguments[:-1])


def _table(heads: str, rows: Iterable[str]) -> str:
    """Return a Markdown table. ``heads``: column headings, separated by ``|``."""
    return "\n".join([f"| {heads} |", "|---" * (heads.count("|") + 1) + "|", *rows, ""])


# -- docs/options.md ---------------------------------------------------------------------------------------------------


def options_table(section: str) -> str:
    docs = field_docs(Options)
    return _table(
        "option | meaning | default",
        (
            _option_row(option, docs.get(name, "{help}"))
            for name, option in OPTIONS.items()
            if (LOAD if option.section == OF_LOCUST else option.section) == section
        ),
    )


def _option_row(option: Option, doc: str) -> str:
    """Return a row.

    ``doc``: a docstring with the placeholder ``{help}``, and a default that is in no field after ``Default:``.
    """
    text, _, default = doc.partition(" Default: ")
    help_text, _, help_default = option.help.replace("%(default)s", "").partition(" (default: ")
    text = text.rstrip(".").replace("{help}", _marked(help_text))
    short = "`-t`, " if option.section == OF_LOCUST else ""
    default = default or help_default.partition(")")[0].replace(SCENARIOS_OWN, "") or _declared_default(option)
    return f"| {short}`{option.name}` | {text} | {default.rstrip('.')} |"


def _declared_default(option: Option) -> str:
    if option.kind is bool:
        return "no"
    if option.default is None or option.default == "":
        return "the scenario's" if option.sets or SCENARIOS_OWN in option.help else "–"
    return f"`{option.default}`" if isinstance(option.default, str) else f"{option.default:g}"


def faults_table() -> str:
    return _table(
        "fault | in a scenario | effect",
        (f"| `{fault.usage()}` | `{fault.__name__}` | {fault.does} |" for fault in KINDS.values()),
    )


# -- docs/scenarios.md -------------------------------------------------------------------------------------------------


def questions_table() -> str:
    rows = []
    for path, text in questions():
        happening, _, question = _one_line(text).partition(" Asks: ")
        file = f"`{path.parent.name}/{path.name}`"
        page = DOCS / "scenarios" / f"{path.stem}.md"
        link = f"[{file}](scenarios/{page.name})" if page.exists() else file
        rows.append(f"| {link} | {_marked(happening)} {question[:1].upper()}{question[1:]} |")
    return _table("scenario | question", rows)


def answers_table() -> str:
    """Return the summary of each scenario's page."""
    rows = []
    for page in sorted((DOCS / "scenarios").glob("*.md")):
        if answer := IN_SHORT.search(page.read_text(encoding="utf-8")):
            figures, _, claim = _one_line(answer[1]).removesuffix(".").partition(". **Claim**: ")
            rows.append(f"| [`{page.stem}`](scenarios/{page.name}) | {figures} | {claim or '–'} |")
    return _table("scenario | figures | the claim", rows)


def attributes_table(heading: str, user: type[BrokerUser]) -> str:
    return _table(
        f"{heading} | meaning",
        (f"| `{name} = {_python(getattr(user, name))}` | {doc} |" for name, doc in field_docs(user).items()),
    )


def _python(value: object) -> str:
    """Return a value as Python source."""
    if isinstance(value, tuple):
        return f"({', '.join(f'{type(part).__name__}()' for part in value)},)"
    return f'"{value}"' if isinstance(value, str) else repr(value)


def checks_table() -> str:
    rows = []
    for name in checks.__all__:
        check = getattr(checks, name)
        arguments = ", ".join(inspect.signature(check).parameters)
        rows.append(f"| `{name}({arguments})` | {_one_line(check.__doc__ or '')} |")
    return _table("check | holds if", rows)


def fault_classes_table() -> str:
    common = {field.name for field in fields(Fault)}
    rows = []
    for fault in KINDS.values():
        times = [*fault.seconds.values()]
        own = [field.name for field in fields(fault) if field.repr and field.name not in (*common, *times)]
        settings = [*(f"{name}=S" for name in ("at_s", *times)), *(f"{name}=…" for name in own)]
        rows.append(f"| `{fault.kind}` | `{fault.__name__}({', '.join(['TARGET', *settings])})` |")
    return _table("`--fault` | in a scenario", rows)


# -- docs/api.md -------------------------------------------------------------------------------------------------------


def api_table(kind: str) -> str:
    rows = (f"| `{name}` | {_of_api(name)} |" for name in api.__all__ if _kind_in_api(name) == kind)
    return _table("name | meaning", rows)


def _kind_in_api(name: str) -> str:
    value = getattr(api, name)
    if name in checks.__all__:
        return CHECKS
    if isinstance(value, NeededLink):
        return LINKS
    return FAULTS if name in (*faults.__all__, Impairment.__name__) else SCENARIOS


def _of_api(name: str) -> str:
    """Return the first sentence of a docstring. For constants it is in the module that defines them."""
    value = getattr(api, name)
    if isinstance(value, NeededLink):
        return f"A {value.what}."
    if value in KINDS.values():
        return str(value.does)
    text = FOREVER_IS if value == FOREVER else value.__doc__
    return re.split(r"(?<=\.)\s", _one_line(text))[0]


# -- docs/topologies.md ------------------------------------------------------------------------------------------------


def catalogue_table(product: str) -> str:
    rows = []
    for entry in entries():
        if entry.product == product:
            parameters = inspect.signature(ENTRIES[entry.name]).parameters.values()
            defaults = ", ".join(f"`{parameter.name}={parameter.default!r}`" for parameter in parameters) or "–"
            rows.append(f"| `{entry.name}` | {defaults} | {_one_line(entry.summary)} |")
    return _table("entry | parameters with defaults | description", rows)


# -- docs/topology-fields.md -------------------------------------------------------------------------------------------


def fields_of(part: type, page: str) -> str:
    """Return a table of the fields that ``page``, the current text of the part, explains, and a list of the others.

    Only the page has the explanations. A new field is listed there until it has an explanation.
    """
    explained = dict(re.findall(r"^\| `(\w+).*?` \| (.*) \|$", page, re.MULTILINE))
    rows = [f"| `{_field(field)}` | {explained[field.name]} |" for field in fields(part) if field.name in explained]
    unexplained = [f"`{_field(field)}`" for field in fields(part) if field.name not in explained]
    return _table("field | meaning", rows) + (f"\n{_also(unexplained)}.\n" if unexplained else "")


def _field(field: "Field[object]") -> str:
    """Return the field as in a file: ``duplex: false``, or only its name if it has no default."""
    if field.default_factory is not MISSING:
        return f"{field.name}: …"
    return field.name if field.default is MISSING else f"{field.name}: {_yaml(field.name, field.default)}"


def _yaml(name: str, value: object) -> str:
    if value == ():
        return "{}" if name in MAPPINGS else "[]"
    if isinstance(value, tuple):
        return "…"
    return value if isinstance(value, str) and value not in SIGNS else json.dumps(value)


def _also(codes: list[str]) -> str:
    """Join with commas, without line breaks within an item."""
    lines = textwrap.wrap("Also " + ", ".join(code.replace(" ", "\0") for code in codes), WIDTH, break_on_hyphens=False)
    return "\n".join(lines).replace("\0", " ")


# -- docs/drivers.md ---------------------------------------------------------------------------------------------------


def failover_table() -> str:
    docs = field_docs(FailoverOptions)
    rows = [
        f"| `{name}` | {_failover_default(field)} | {docs[field.name]}{_refused_by_core(field)} |"
        for name, field in OPTION_FIELDS.items()
        if field.name in docs
    ]
    left_alone = ", ".join(f"`{name}`" for name, field in OPTION_FIELDS.items() if field.name not in docs)
    rows.append(f"| {left_alone} | the library's | only OpenWire |")
    return _table("option | default | meaning", rows)


def _refused_by_core(field: "Field[object]") -> str:
    by = field.metadata["by"]
    return " Core ✗" if "core" not in by and by != OPENWIRE else ""  # options of OpenWire only are marked differently


def _failover_default(field: "Field[object]") -> str:
    text = written(field.default) or "none"
    return f"`{text}`" if isinstance(field.default, bool) else text


# -- docs/events.md ----------------------------------------------------------------------------------------------------


def columns_table(table: str) -> str:
    rows = (
        f"| `{column.name}` | {column.type}{'?' if column.nullable else ''} | {MEANINGS[table][column.name]} |"
        for column in RESULT_TABLES[table]
    )
    return _table("column | type | meaning", rows)


def _new_section(heading: str, part: str) -> str:
    """Return the section for a part that the page lacks, for its end."""
    return f"\n## {heading}\n\n<!-- {part}: written by make docs -->\n\n\n<!-- end -->\n"


def _columns_of(table: str) -> str:
    return f"columns of {table}"


# -- docs/comparing.md -------------------------------------------------------------------------------------------------


def variable_text() -> str:
    return "\n".join(
        [
            *textwrap.wrap(
                f"Options that can be varied: {', '.join(variable_options())}.", WIDTH, break_on_hyphens=False
            ),
            "",
        ]
    )


# -- all of them -------------------------------------------------------------------------------------------------------

Maker = Callable[[str], str]
"""Returns a part's text. Its argument is the previous text, which most makers ignore."""
PARTS: dict[str, dict[str, Maker]] = {
    "api.md": {f"names of {kind}": partial(_generate, api_table, kind) for kind in API_KINDS},
    "options.md": {
        **{f"options of {section}": partial(_generate, options_table, section) for section in SECTIONS},
        "faults": partial(_generate, faults_table),
    },
    "scenarios.md": {
        "questions": partial(_generate, questions_table),
        "answers": partial(_generate, answers_table),
        "attributes of both": partial(_generate, attributes_table, "both", BrokerUser),
        "attributes of producers": partial(_generate, attributes_table, "`ProducerUser`", ProducerUser),
        "attributes of consumers": partial(_generate, attributes_table, "`ConsumerUser`", ConsumerUser),
        "checks": partial(_generate, checks_table),
        "faults": partial(_generate, fault_classes_table),
    },
    "manual.md": {"statements": partial(_generate, statements_text)},
    "comparing.md": {"options that can be varied": partial(_generate, variable_text)},
    "topologies.md": {f"entries of {product}": partial(_generate, catalogue_table, product) for product in PRODUCTS},
    "topology-fields.md": {f"fields of {part.__name__}": partial(fields_of, part) for part in FIELDS_OF},
    "drivers.md": {"options of the failover URI": partial(_generate, failover_table)},
    "events.md": {_columns_of(table): partial(_generate, columns_table, table) for table in RESULT_TABLES},
}


GROWING = {"events.md": "`{}`", "topologies.md": "The catalogue: {}", "topology-fields.md": "`{}`"}
"""The pages that get a section for a new table, product or part of a topology file, with its heading."""


def page_text(page: str) -> str:
    """Return a page with all parts regenerated. KeyError for an unknown part."""
    text = (DOCS / page).read_text(encoding="utf-8")
    if page in GROWING:
        lacking = (part for part in PARTS[page] if f"<!-- {part}: " not in text)
        text += "".join(_new_section(GROWING[page].format(part.rpartition(" ")[2]), part) for part in lacking)
    return PART.sub(lambda part: part[1] + PARTS[page][part[2]](part[3]) + part[4], text)


ALL: dict[str, Callable[[], str]] = {**DOCUMENTS, **{page: partial(page_text, page) for page in PARTS}}
"""The text of each document in docs/ that is generated wholly or in part."""

if __name__ == "__main__":
    for document, make_text in ALL.items():
        text = make_text()
        if text != (DOCS / document).read_text(encoding="utf-8"):
            (DOCS / document).write_text(text, encoding="utf-8")
            print(f"wrote docs/{document}")
