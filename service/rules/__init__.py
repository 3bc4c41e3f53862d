"""The rules of Persian Rummy: pure functions over ints and named fields.

No I/O, no clock, no source of randomness, no logging, no framework. See README.md in this package
for the rules with their ids and for the rulings where the sources are silent.
"""
