"""The search benchmark yields the rows it promises."""

from klss_spiel.algorithms.search.openspiel_game import OpenSpielSearchGame
from klss_spiel.run.suites import search as suite

TINY = suite.Effort((600,), (600,), 2, 1_000, 10)


def test_rows_say_speed_memory_and_where_the_time_goes():
    game = OpenSpielSearchGame("leduc_poker")
    rows = list(suite._implementation("states", "leduc_poker", game, (600,), TINY, peer=100.0))
    assert [(row["task"], row["contender"]) for row in rows] == [
        ("search", suite._OURS),
        ("search", suite._PEER),
        ("iteration", suite._OURS),
        ("iteration", suite._REFERENCE),
    ]
    for row in rows:
        assert {"suite", "game", "contender", "seconds", "ratio"} <= row.keys()
        assert row.keys() <= set(suite.COLUMNS)
    search = rows[0]
    assert search["nodes"] > 300
    assert search["bytes_per_node"] > 50
    shares = search["expanding"] + search["evaluating"] + search["solving"]
    assert 0.5 < shares <= 1.01
    assert rows[1]["ratio"] == search["nodes_per_second"] / 100.0
    assert rows[2]["iterations_per_second"] > 0


def test_the_peer_is_measured_on_the_same_game():
    assert suite._ismcts_rate("dark_hex(num_rows=3,num_cols=3)", 5) > 0
