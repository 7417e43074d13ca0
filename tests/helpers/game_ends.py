"""How recorded games of dark chess ended; files of matches say only that the rules ended them."""

from klss_spiel.games.chess import boards, rules
from klss_spiel.games.chess.play import Course
from klss_spiel.openspiel import load_game


def ended_by_repetition(row):
    """Whether the last position of a game stood there for the third time.

    Args:
        row: of a match (`klss_spiel.matches.match`): `game` and `moves` are read. Not of
            Kriegspiel, whose moves may be refused.
    """
    start = load_game(row["game"]).new_initial_state().moment.position
    course = Course(start)
    for name in row["moves"].split():
        course = course.after(boards.move_from_uci(name, start.width, start.height))
    return course.earlier.count(rules.repetition_key(course.position)) >= 2
