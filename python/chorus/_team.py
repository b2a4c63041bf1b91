# SPDX-License-Identifier: Apache-2.0
"""Teams: ordered groups of PEs."""
from __future__ import annotations

import ctypes
from collections.abc import Sequence

from ._library import ArgumentError, check, last_message, lib, require

INVALID = -1


class Team:
    """An ordered group of PEs. `chorus.WORLD` has all of the job, `chorus.SHARED` those whose
    memory is mapped, `chorus.NODE` those of this host.

    Creating and destroying teams is collective. A team that is not destroyed exists until
    `chorus.finalize`: it is not collected, since its PEs would collect it at different times.
    """

    __slots__ = ("_handle",)

    def __init__(self, handle):
        self._handle = handle

    @property
    def handle(self) -> int:
        """The chorus_team_t of the C library."""
        return self._handle

    def __repr__(self) -> str:
        return f"<chorus.Team {self._handle}>"

    @property
    def my_pe(self) -> int:
        """This PE's number in the team."""
        return self._ask(lib.chorus_team_my_pe)

    @property
    def n_pes(self) -> int:
        """The number of PEs in the team."""
        return self._ask(lib.chorus_team_n_pes)

    def _ask(self, function):
        require("a team")
        number = function(self._handle)
        if number < 0:
            raise ArgumentError(last_message())
        return number

    def translate(self, pe: int, other: Team) -> int | None:
        """The number in `other` of this team's PE `pe`; None if it is not in both."""
        self.my_pe, other.my_pe  # both are teams of this PE
        number = lib.chorus_team_translate_pe(self._handle, pe, other.handle)
        return None if number < 0 else number

    def create(self, pes: Sequence[int]) -> Team | None:
        """Collective over this team: a team of the PEs in the list, in its order. None on PEs
        that are not in it."""
        return self._make(lib.chorusx_team_create, *_list(pes))

    def create_group(self, pes: Sequence[int], tag: int = 0) -> Team | None:
        """As `create`, called only by the PEs of the list, with the same tag."""
        return self._make(lib.chorusx_team_create_group, *_list(pes), tag)

    def split(self, start: int, stride: int, count: int) -> Team | None:
        """Collective over this team: the PEs start, start + stride, ..., `count` of them. None on
        other PEs."""
        return self._make(lib.chorus_team_split_strided, start, stride, count, None,
                          ctypes.c_long(0))

    def split_color(self, color: int, key: int = 0) -> Team | None:
        """Collective over this team: the PEs of a colour, by their keys and then their numbers.
        None where the colour is negative."""
        return self._make(lib.chorusx_team_split_color, color, key)

    def split_2d(self, xrange: int) -> tuple[Team | None, Team | None]:
        """Collective over this team: the row and the column of this PE in a grid whose rows have
        `xrange` PEs."""
        require("Team.split_2d")
        row, column = ctypes.c_int32(INVALID), ctypes.c_int32(INVALID)
        none = ctypes.c_long(0)
        check(lib.chorus_team_split_2d(self._handle, xrange, None, none, ctypes.byref(row), None,
                                       none, ctypes.byref(column)))
        return _team(row), _team(column)

    def destroy(self) -> None:
        """Collective over this team, after the last call on it: free its memory."""
        from ._library import call
        require("Team.destroy")
        call(lib.chorus_team_destroy, self._handle)

    def status(self) -> None:
        """Raise the failure that made the team unusable, if there is one."""
        require("Team.status")
        check(lib.chorusx_team_status(self._handle))

    def _make(self, function, *arguments):
        require("a team")
        made = ctypes.c_int32(INVALID)
        check(function(self._handle, *arguments, ctypes.byref(made)))
        return _team(made)


def _team(made):
    return None if made.value == INVALID else Team(made.value)


def _list(pes):
    pes = list(pes)
    return (ctypes.c_int * max(len(pes), 1))(*pes), len(pes)


WORLD, SHARED, NODE = Team(0), Team(1), Team(2)


def handle_of(team):
    """None is all PEs of the job."""
    if team is None:
        return 0
    if type(team) is Team:
        return team._handle
    raise ArgumentError(f"team is a {type(team).__name__}; expected a chorus.Team, or None for all PEs")
