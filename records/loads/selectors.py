"""Parses JMS message selectors, and decides which messages they match.

    color = 'red' AND (weight BETWEEN 1 AND 5 OR name LIKE 'a%')

The brokers do the selecting. This module rejects a selector that does not parse before anything starts, and lets the
analysis compute which messages each consumer should have received. A condition has three values: a comparison with a
property that a message does not have is unknown (None), and only a true selector matches. Source: JMS 1.1, section
3.8.1.

Selectors here can use only the properties of messages, not the JMS headers.
"""

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, lru_cache

from records.errors import UserError
from records.loads.message_properties import MessageProperties, Value

Result = Value | None
Evaluate = Callable[[Mapping[str, Value]], Result]

_TOKEN = re.compile(
    r"\s+|(?P<text>'(?:[^']|'')*')|(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)"
    r"|(?P<name>[A-Za-z_$][A-Za-z0-9_$]*)|(?P<sign><>|<=|>=|[=<>+\-*/(),])"
)
_WORDS = ("AND", "OR", "NOT", "BETWEEN", "IN", "LIKE", "ESCAPE", "IS", "NULL", "TRUE", "FALSE")


MOST_CHARACTERS = 20_000
DEEPEST = 40
"""Deepest nesting of parentheses, NOT and signs: the parsers here and in the brokers recurse for each."""
MOST_DIGITS = 100
_LONG = 1 << 63


@dataclass(frozen=True)
class _Token:
    kind: str  # text | number | name | sign | word | end
    text: str
    at: int


@dataclass(frozen=True)
class Selector:
    """A selector that parses. Created by `parse`."""

    text: str

    @cached_property
    def _evaluate(self) -> Evaluate:
        return _Parser(self.text).parse()

    @cached_property
    def properties(self) -> tuple[str, ...]:
        """The names of the properties that it uses, each once."""
        return _Parser(self.text).properties

    def matches(self, properties: Mapping[str, Value]) -> bool:
        """Whether a message with these properties matches. UserError if it compares a text with a number, or
        similar."""
        try:
            return _truth(self._evaluate(properties)) is True
        except TypeError as error:
            raise UserError(f"selector {self.text!r}: {error}") from None
        except ArithmeticError:
            raise UserError(f"selector {self.text!r}: a number in it becomes too large; use smaller numbers") from None

    def match_period(self, properties: MessageProperties) -> tuple[bool, ...]:
        """Return whether each message in a period of the properties matches. Message n is n modulo the period."""
        return tuple(self.matches(properties.of_message(number)) for number in range(properties.period))


@lru_cache(maxsize=1_024)
def parse(text: str) -> Selector:
    """Parse a selector. UserError names the character at which it goes wrong."""
    selector = Selector(text)
    _ = selector._evaluate
    return selector


class _Parser:
    """Recursive descent: OR, AND, NOT, comparison, sum, product, sign, and operands in parentheses."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._depth = 0
        if len(text) > MOST_CHARACTERS:
            raise self._bad(MOST_CHARACTERS, f"it has {len(text):,} characters; write at most {MOST_CHARACTERS:,}")
        self._tokens = list(self._split())
        self._next = 0

    @property
    def properties(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(token.text for token in self._tokens if token.kind == "name"))

    def parse(self) -> Evaluate:
        condition = self._disjunction()
        if self._token.kind != "end":
            raise self._wrong("AND, OR or the end is expected")
        return condition

    def _split(self) -> Iterator[_Token]:
        at = 0
        while at < len(self._text):
            match = _TOKEN.match(self._text, at)
            if match is None and self._text[at] == "'":
                raise self._bad(at, "a quote is opened here and not closed; write ' where the text ends")
            if match is None or any("\ud800" <= letter <= "\udfff" for letter in match[0]):
                raise self._bad(at, f"{self._text[at : at + 10]!r} is not allowed in a selector")
            if kind := match.lastgroup:
                word = kind == "name" and match[0].upper() in _WORDS
                yield _Token("word" if word else kind, match[0].upper() if word else match[0], at)
            at = match.end()
        yield _Token("end", "", at)

    @property
    def _token(self) -> _Token:
        return self._tokens[self._next]

    def _bad(self, at: int, why: str) -> UserError:
        return UserError(f"selector {self._text!r}: at character {at + 1}: {why}")

    def _wrong(self, expected: str) -> UserError:
        token_words = repr(self._token.text) if self._token.text else "its end"
        return self._bad(self._token.at, f"{expected}, not {token_words}")

    def _takes(self, *texts: str) -> str:
        """Consume and return the next sign or word if it is one of these, otherwise return an empty string."""
        token = self._token
        if token.kind in ("sign", "word") and token.text in texts:
            self._next += 1
            return token.text
        return ""

    def _expect(self, text: str) -> None:
        if not self._takes(text):
            raise self._wrong(f"{text} is expected")

    def _text_literal(self) -> str:
        token = self._token
        if token.kind != "text":
            raise self._wrong("text in single quotes is expected")
        self._next += 1
        return token.text[1:-1].replace("''", "'")

    @contextmanager
    def _inside(self) -> Iterator[None]:
        """Count one nesting level: in parentheses, or after a NOT or a sign."""
        self._depth += 1
        if self._depth > DEEPEST:
            raise self._bad(self._token.at, f"more than {DEEPEST} parentheses, NOT or signs are nested")
        yield
        self._depth -= 1

    def _disjunction(self) -> Evaluate:
        conditions = [self._conjunction()]
        while self._takes("OR"):
            conditions.append(self._conjunction())
        return _or(*conditions)

    def _conjunction(self) -> Evaluate:
        conditions = [self._negated()]
        while self._takes("AND"):
            conditions.append(self._negated())
        return _and(*conditions)

    def _negated(self) -> Evaluate:
        if self._takes("NOT"):
            with self._inside():
                return _not(self._negated())
        return self._comparison()

    def _comparison(self) -> Evaluate:
        subject = self._sum()
        if sign := self._takes("=", "<>", "<", "<=", ">", ">="):
            return _compare(sign, subject, self._sum())
        if self._takes("IS"):
            negated = bool(self._takes("NOT"))
            self._expect("NULL")
            return lambda message: (subject(message) is None) != negated
        negated = bool(self._takes("NOT"))
        if self._takes("BETWEEN"):
            return _negate_if(negated, self._between(subject))
        if self._takes("IN"):
            return _negate_if(negated, self._in(subject))
        if self._takes("LIKE"):
            return _negate_if(negated, self._like(subject))
        if negated:
            raise self._wrong("BETWEEN, IN or LIKE is expected")
        return subject

    def _between(self, subject: Evaluate) -> Evaluate:
        low = self._sum()
        self._expect("AND")
        return _and(_compare(">=", subject, low), _compare("<=", subject, self._sum()))

    def _in(self, subject: Evaluate) -> Evaluate:
        self._expect("(")
        texts = {self._text_literal()}
        while self._takes(","):
            texts.add(self._text_literal())
        self._expect(")")
        return lambda message: None if (value := subject(message)) is None else _text(value) in texts

    def _like(self, subject: Evaluate) -> Evaluate:
        at, wanted = self._token.at, self._text_literal()
        escape = self._text_literal() if self._takes("ESCAPE") else ""
        if len(escape) > 1:
            raise self._bad(at, "ESCAPE is one character")
        pattern = re.compile(_regex(wanted, escape), re.DOTALL)
        return lambda message: (
            None if (value := subject(message)) is None else pattern.fullmatch(_text(value)) is not None
        )

    def _sum(self) -> Evaluate:
        first_operand, steps = self._product(), []
        while sign := self._takes("+", "-"):
            steps.append((sign, self._product()))
        return _calculate(first_operand, steps)

    def _product(self) -> Evaluate:
        first_operand, steps = self._signed(), []
        while sign := self._takes("*", "/"):
            steps.append((sign, self._signed()))
        return _calculate(first_operand, steps)

    def _signed(self) -> Evaluate:
        if sign := self._takes("+", "-"):
            with self._inside():
                return _calculate(lambda message: 0, [(sign, self._signed())])
        return self._operand()

    def _operand(self) -> Evaluate:
        if self._takes("("):
            with self._inside():
                inner = self._disjunction()
            self._expect(")")
            return inner
        if word := self._takes("TRUE", "FALSE"):
            return lambda message: word == "TRUE"
        token = self._token
        if token.kind == "text":
            text = self._text_literal()
            return lambda message: text
        if token.kind not in ("number", "name"):
            raise self._wrong("a property, a number or text in single quotes is expected")
        self._next += 1
        if token.kind == "number":
            whole = token.text.isdecimal() and len(token.text) < MOST_DIGITS
            number = int(token.text) if whole else float(token.text)
            if not math.isfinite(number) or (token.text.isdecimal() and number >= _LONG):
                raise self._bad(token.at, f"{token.text} does not fit into 64 bits; use a smaller number")
            return lambda message: number
        if token.text.startswith("JMS"):
            raise self._bad(token.at, f"{token.text} is a JMS header; select by properties of the messages")
        return lambda message: message.get(token.text)


def _or(*conditions: Evaluate) -> Evaluate:
    if len(conditions) == 1:
        return conditions[0]

    def any_holds(message: Mapping[str, Value]) -> Result:
        values = [_truth(condition(message)) for condition in conditions]
        return True if True in values else None if None in values else False

    return any_holds


def _and(*conditions: Evaluate) -> Evaluate:
    if len(conditions) == 1:
        return conditions[0]

    def all_hold(message: Mapping[str, Value]) -> Result:
        values = [_truth(condition(message)) for condition in conditions]
        return False if False in values else None if None in values else True

    return all_hold


def _not(condition: Evaluate) -> Evaluate:
    return lambda message: None if (value := _truth(condition(message))) is None else not value


def _negate_if(negated: bool, condition: Evaluate) -> Evaluate:
    return _not(condition) if negated else condition


def _compare(sign: str, left_side: Evaluate, right_side: Evaluate) -> Evaluate:
    def compare(message: Mapping[str, Value]) -> Result:
        left_value, right_value = left_side(message), right_side(message)
        if left_value is None or right_value is None:
            return None
        if _kind(left_value) != _kind(right_value):
            raise TypeError(
                f"{left_value!r} and {right_value!r} cannot be compared; a number is written without quotes"
            )
        if sign in ("=", "<>"):
            return (left_value == right_value) == (sign == "=")
        if _kind(left_value) != "number":
            raise TypeError(f"{left_value!r} {sign} {right_value!r}: only numbers have an order; use = or <>")
        is_less, equal = _number(left_value) < _number(right_value), left_value == right_value
        return {"<": is_less, "<=": is_less or equal, ">": not is_less and not equal, ">=": not is_less}[sign]

    return compare


def _calculate(first_operand: Evaluate, steps: Sequence[tuple[str, Evaluate]]) -> Evaluate:
    """Calculate from left to right. Unknown if one value is unknown."""
    if not steps:
        return first_operand

    def calculate(message: Mapping[str, Value]) -> Result:
        result = first_operand(message)
        for sign, evaluate in steps:
            value = evaluate(message)
            if result is None or value is None:
                return None
            left_number, right_number = _number(result), _number(value)
            if sign == "/":
                result = _divided(left_number, right_number)
            else:
                result = {
                    "+": left_number + right_number,
                    "-": left_number - right_number,
                    "*": left_number * right_number,
                }[sign]
        return result

    return calculate


def _divided(dividend: float, divisor: float) -> Result:
    """Divide whole numbers as in Java, toward 0; a division by 0 is unknown."""
    if divisor == 0:
        return None
    if isinstance(dividend, int) and isinstance(divisor, int):
        return abs(dividend) // abs(divisor) * (1 if (dividend < 0) == (divisor < 0) else -1)
    return dividend / divisor


def _kind(value: Value) -> str:
    return "truth" if isinstance(value, bool) else "text" if isinstance(value, str) else "number"


def _truth(value: Result) -> bool | None:
    if value is None or isinstance(value, bool):
        return value
    raise TypeError(f"{value!r} is not a condition; compare it with something")


def _number(value: Value) -> int | float:
    if isinstance(value, bool | str):
        raise TypeError(f"{value!r} is not a number")
    return value


def _text(value: Value) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not text; IN and LIKE take only text")
    return value


def _regex(wanted: str, escape: str) -> str:
    """Translate a LIKE pattern: ``%`` is any text, ``_`` one character; after the escape character they are literal.

    The text between two ``%`` is searched once, from the left: atomic groups keep a pattern with many ``%`` from
    backtracking through all combinations.
    """
    parts: list[str] = [""]
    escaped = False
    for character in wanted:
        if escaped or character not in ("%", "_", escape):
            parts[-1] += re.escape(character)
            escaped = False
        elif character == escape:
            escaped = True
        elif character == "%":
            parts.append("")
        else:
            parts[-1] += "."
    first_part, *middle = parts
    if not middle:
        return first_part
    return first_part + "".join(f"(?>.*?{part})" for part in middle[:-1] if part) + f".*{middle[-1]}"
