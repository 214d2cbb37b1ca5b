#!/usr/bin/env python3
"""Writes forms.h as gen.py does, of instruction forms that are not among those of gen.py, more.py and video.py, whose
answers are in golden-corners.txt. What is drawn at random depends on the order of the families."""

from corners_floats import floats, approximations, boundaries, folded
from corners_numbers import conversions, wide_registers, constants, sets, literals
from corners_words import carries, expressions, warps, spaces, fields
from corners_memory import memory, atomics, asynchronous, halves_in_shared
from corners_texts import functions, texts, bulk, vectors
from groups import write


def main():
    for family in (
        floats,
        approximations,
        conversions,
        wide_registers,
        constants,
        sets,
        carries,
        expressions,
        memory,
        atomics,
        warps,
        spaces,
        functions,
        texts,
        asynchronous,
        literals,
        bulk,
        boundaries,
        fields,
        folded,
        halves_in_shared,
        vectors,
    ):
        family()
    write("golden-corners.txt")


if __name__ == "__main__":
    main()
