"""The parser: from text to syntax, macros expanded (cel-spec, "Syntax"; the grammar is that of cel-go).

Written by hand because the library's parser refuses what upstream takes and can be brought down by a short text; see
docs/decisions/0002-cel.md.
"""

from itertools import count

from muster_dra.cel.macros import Expander, MacroMisused
from muster_dra.cel.syntax import Call, Entry, Expr, Ident, ListExpr, Literal, MapExpr, MessageExpr, Select
from muster_dra.cel.tokens import ParseFailed, Sort, Token, tokenize

_DEEPEST = 250  # cel-go's limit of nested expressions
_LONGEST = 100_000  # characters, cel-go's limit
_RESERVED = frozenset(
    (
        "as", "break", "const", "continue", "else", "for", "function", "if", "import", "let", "loop", "package",
        "namespace", "return", "var", "void", "while",
    )
)  # fmt: skip
_STRENGTH = {
    "||": 1, "&&": 2, "==": 3, "!=": 3, "<": 3, "<=": 3, ">": 3, ">=": 3, "in": 3,
    "+": 4, "-": 4, "*": 5, "/": 5, "%": 5,
}  # fmt: skip


def parse(text: str) -> Expr:
    """The syntax of an expression, macros expanded. Raises ParseFailed."""
    if len(text) > _LONGEST:
        raise ParseFailed(f"the expression has {len(text)} characters, more than {_LONGEST}")
    try:
        text.encode()
        return _Parser(tokenize(text)).parse()
    except UnicodeEncodeError:
        raise ParseFailed("the expression is no valid Unicode text") from None
    except MacroMisused as error:
        raise ParseFailed(str(error)) from None


class _Parser:
    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens
        self._next = 0
        self._depth = 0
        self._ids = count(1)
        self._macros = Expander(self._ids)

    def parse(self) -> Expr:
        root = self._expression()
        if self._peek().sort is not Sort.END:
            raise self._unexpected()
        return root

    def _peek(self) -> Token:
        return self._tokens[self._next]

    def _take(self, sign: str) -> bool:
        """Whether the next token is that sign; it is then consumed."""
        token = self._tokens[self._next]
        if token.sort is Sort.SIGN and token.text == sign:
            self._next += 1
            return True
        return False

    def _expect(self, sign: str) -> None:
        if not self._take(sign):
            raise self._unexpected(f", expected {sign!r}")

    def _unexpected(self, hint: str = "") -> ParseFailed:
        token = self._peek()
        found = token.text[:40] if token.sort is not Sort.END else "end of the expression"
        return ParseFailed(f"syntax error at character {token.at + 1}: unexpected {found}{hint}")

    def _id(self) -> int:
        return next(self._ids)

    def _apply(self, function: str, *args: Expr) -> Call:
        return Call(self._id(), function, None, args)

    def _expression(self) -> Expr:
        """An expression, `c ? a : b` included."""
        self._depth += 1
        if self._depth > _DEEPEST:
            raise ParseFailed(f"the expression is nested deeper than {_DEEPEST} levels")
        choices: list[tuple[Expr, Expr]] = []
        found = self._operators()
        while self._take("?"):
            yes = self._operators()
            self._expect(":")
            choices.append((found, yes))
            if len(choices) + self._depth > _DEEPEST:
                raise ParseFailed(f"the expression is nested deeper than {_DEEPEST} levels")
            found = self._operators()
        for condition, yes in reversed(choices):
            found = self._apply("_?_:_", condition, yes, found)
        self._depth -= 1
        return found

    def _operators(self) -> Expr:
        """Binary operators by their strength, all from the left; `&&` and `||` make balanced trees."""
        operands = [self._unary()]
        pending: list[str] = []
        while True:
            token = self._tokens[self._next]
            strength = _STRENGTH.get(token.text, 0) if token.sort is Sort.SIGN else 0
            while pending and _STRENGTH[pending[-1]] >= max(strength, 3):
                self._reduce(operands, pending)
            if strength < 2:
                self._join(operands, pending, "&&")
            if strength < 1:
                self._join(operands, pending, "||")
                return operands[0]
            self._next += 1
            pending.append(token.text)
            operands.append(self._unary())

    def _reduce(self, operands: list[Expr], pending: list[str]) -> None:
        operator = pending.pop()
        right, left = operands.pop(), operands.pop()
        operands.append(self._apply("@in" if operator == "in" else f"_{operator}_", left, right))

    def _join(self, operands: list[Expr], pending: list[str], operator: str) -> None:
        terms = [operands.pop()]
        while pending and pending[-1] == operator:
            pending.pop()
            terms.append(operands.pop())
        terms.reverse()
        operands.append(self._balanced(f"_{operator}_", terms) if len(terms) > 1 else terms[0])

    def _balanced(self, function: str, terms: list[Expr]) -> Expr:
        """A tree as low as can be: long chains must not nest deeply. Split as cel-go splits them."""
        if len(terms) == 1:
            return terms[0]
        middle = (len(terms) - 1) // 2 + 1
        return self._apply(function, self._balanced(function, terms[:middle]), self._balanced(function, terms[middle:]))

    def _unary(self) -> Expr:
        token = self._tokens[self._next]
        if token.sort is not Sort.SIGN or token.text not in ("!", "-"):
            return self._member(self._primary())
        signs = 0
        while self._take(token.text):
            signs += 1
        if token.text == "-" and signs == 1 and self._peek().sort is Sort.NUMBER:
            return self._member(self._number(negative=True))
        if token.text == "!" and self._take("-"):
            if self._peek().sort is not Sort.NUMBER:
                raise self._unexpected(", expected a number after '-'")
            operand = self._member(self._number(negative=True))
        else:
            operand = self._member(self._primary())
        return operand if signs % 2 == 0 else self._apply("!_" if token.text == "!" else "-_", operand)

    def _number(self, *, negative: bool) -> Literal:
        token = self._peek()
        value = token.value
        if not isinstance(value, (int, float)):
            raise self._unexpected(", expected a number")
        self._next += 1
        if type(value) is int and value == 2**63 and not negative:
            raise ParseFailed(f"invalid integer literal at character {token.at + 1}: {token.text}")
        return Literal(self._id(), -value if negative else value)

    def _member(self, target: Expr) -> Expr:
        """The selections, calls and indexes that follow an operand."""
        links = 0
        while True:
            if self._take("."):
                target = self._selection(target)
            elif self._take("["):
                optional = self._take("?")
                index = self._expression()
                self._expect("]")
                target = self._apply("_[?_]" if optional else "_[_]", target, index)
            else:
                return target
            links += 1
            if links > _DEEPEST:
                raise ParseFailed(f"the expression has a chain of more than {_DEEPEST} selections")

    def _selection(self, target: Expr) -> Expr:
        optional = self._take("?")
        name = self._name()
        if optional:
            return self._apply("_?._", target, Literal(self._id(), name))
        if self._take("("):
            return self._macros.expand(Call(self._id(), name, target, self._arguments()))
        return Select(self._id(), target, name, test=False)

    def _name(self) -> str:
        token = self._peek()
        if token.sort is not Sort.NAME:
            raise self._unexpected(", expected a name")
        self._next += 1
        return token.text

    def _arguments(self) -> tuple[Expr, ...]:
        """The arguments of a call, the opening bracket consumed."""
        args: list[Expr] = []
        if self._take(")"):
            return ()
        while True:
            args.append(self._expression())
            if self._take(")"):
                return tuple(args)
            self._expect(",")

    def _primary(self) -> Expr:
        token = self._peek()
        if token.sort is Sort.LITERAL:
            self._next += 1
            return Literal(self._id(), token.value)
        if token.sort is Sort.NUMBER:
            return self._number(negative=False)
        if token.sort is Sort.NAME:
            return self._named("")
        if self._take("("):
            inner = self._expression()
            self._expect(")")
            return inner
        if self._take("["):
            return self._list()
        if self._take("{"):
            return self._map()
        if self._take("."):
            return self._named(".")
        raise self._unexpected()

    def _named(self, dot: str) -> Expr:
        token = self._peek()
        name = self._name()
        if name in _RESERVED:
            raise ParseFailed(f"reserved identifier at character {token.at + 1}: {name}")
        if self._take("("):
            return self._macros.expand(Call(self._id(), dot + name, None, self._arguments()))
        message = self._message_name(dot + name)
        return MessageExpr(self._id(), message) if message else Ident(self._id(), dot + name)

    def _message_name(self, name: str) -> str:
        """The name of a message literal `a.b.C{...}` that starts here, consumed up to its end; empty if none does."""
        at = self._next
        while self._tokens[at].text == "." and self._tokens[at + 1].sort is Sort.NAME:
            name = f"{name}.{self._tokens[at + 1].text}"
            at += 2
        if self._tokens[at].text != "{" or self._tokens[at].sort is not Sort.SIGN:
            return ""
        self._next = at + 1
        while not self._take("}"):
            self._take("?")
            self._name()
            self._expect(":")
            self._expression()
            if not self._take(","):
                self._expect("}")
                break
        return name

    def _list(self) -> ListExpr:
        elements: list[Expr] = []
        optional: set[int] = set()
        while not self._take("]"):
            if not elements and self._take(","):
                self._expect("]")
                break
            if self._take("?"):
                optional.add(len(elements))
            elements.append(self._expression())
            if not self._take(","):
                self._expect("]")
                break
        return ListExpr(self._id(), tuple(elements), frozenset(optional))

    def _map(self) -> MapExpr:
        entries: list[Entry] = []
        while not self._take("}"):
            if not entries and self._take(","):
                self._expect("}")
                break
            optional = self._take("?")
            key = self._expression()
            self._expect(":")
            entries.append(Entry(key, self._expression(), optional))
            if not self._take(","):
                self._expect("}")
                break
        return MapExpr(self._id(), tuple(entries))
