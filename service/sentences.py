"""Sentences for people, which may be told in another language later.

A refusal is raised deep in the rules or the use cases, where nobody knows who reads it. There it is
made in English, and remembers the pattern and the values that it was made of, so that the edge can
make it again from the pattern's translation (`service/translations`). Everybody else sees a `str`.

The catalogues are extracted from the calls of `Sentence`: its first argument is a literal.
"""

from collections.abc import Callable


class Share(float):
    """A part of a whole, from 0 to 1, told in per cent: `42 %`, which no line break parts."""

    def __format__(self, _spec: str) -> str:
        return f"{100 * self:.0f}\N{NO-BREAK SPACE}%"


class Sentence(str):
    """English text that remembers how it was made.

    >>> Sentence("Seat {seat} is taken.", seat=2)
    'Seat 2 is taken.'
    """

    __slots__ = ("pattern", "values")
    pattern: str
    """What is translated: the text with `{name}` for each value."""
    values: dict[str, object]

    def __new__(cls, pattern: str, /, **values: object) -> "Sentence":
        made = super().__new__(cls, str.format(pattern, **values) if values else pattern)
        made.pattern = pattern
        made.values = values
        return made

    def format(self, *_: object, **values: object) -> "Sentence":
        """Return the sentence with `values` in their places: still one that can be told anew.

        So a library that fills in the messages it was given gives back sentences."""
        return Sentence(self.pattern, **values)

    def told(self, translate: Callable[[str], str]) -> str:
        """Return the sentence in another language: `translate` gives a pattern's translation.

        A value that is a sentence is told as well."""
        pattern = translate(self.pattern)
        if not self.values:
            return pattern
        told = {
            name: value.told(translate) if isinstance(value, Sentence) else value
            for name, value in self.values.items()
        }
        return pattern.format(**told)
