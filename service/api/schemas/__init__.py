"""Shapes of requests and answers: types, bounds and words for the document; no rules of the game.

Requests are read through these schemas and refuse unknown fields. Answers are made by the use cases
as plain JSON and are written as they are: their schemas only describe them, and a test holds every
answer against them."""
