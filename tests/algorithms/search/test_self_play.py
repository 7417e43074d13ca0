"""Self-play: every two-player zero-sum game that OpenSpiel can load, with few nodes."""

import numpy as np
import pyspiel
import pytest

from klss_spiel.algorithms.search.bot import SearchBot
from klss_spiel.budget import Budget
from klss_spiel.openspiel import turn_based

ZERO_SUM = (pyspiel.GameType.Utility.ZERO_SUM, pyspiel.GameType.Utility.CONSTANT_SUM)

# Smaller versions of games that are slow as they are by default.
SMALLER = {
    "universal_poker": (
        "universal_poker(betting=limit,numPlayers=2,numRounds=2,blind=1 1,raiseSize=2 4,"
        "firstPlayer=1 1,maxRaises=1 1,numSuits=2,numRanks=3,numHoleCards=1,numBoardCards=0 1)"
    ),
    "repeated_leduc_poker": "repeated_leduc_poker(num_hands=2)",
    "python_n_matching_pennies": "python_n_matching_pennies(n=20)",
    "python_kriegspiel": "python_kriegspiel(board=silverman4x4)",
    "python_liars_poker": "python_liars_poker(hand_length=2,num_digits=2)",
}

# A game of every kind: hidden dice and cards, unnoticed tries, chance, perfect information.
SAMPLE = (
    "kuhn_poker",
    "leduc_poker",
    "liars_dice",
    "dark_hex",
    "phantom_ttt",
    "latent_ttt",
    "goofspiel",
    "matrix_rps",
    "tic_tac_toe",
    "python_kriegspiel",
)


def registered():
    return [
        game_type.short_name
        for game_type in pyspiel.registered_games()
        if game_type.min_num_players <= 2 <= game_type.max_num_players
        and game_type.utility in ZERO_SUM
        and game_type.default_loadable
    ]


def play(name, nodes=40, moves=8, seed=1):
    """Plays some moves of a game; returns how many searches there were."""
    game = turn_based(pyspiel.load_game(SMALLER.get(name, name)))
    bots = [SearchBot(game, p, Budget(nodes=nodes), seed=seed) for p in (0, 1)]
    rng = np.random.default_rng(seed)
    state = game.new_initial_state()
    searches = 0
    while not state.is_terminal() and moves:
        if state.is_chance_node():
            actions, weights = zip(*state.chance_outcomes(), strict=True)
            action = int(rng.choice(actions, p=np.array(weights) / sum(weights)))
        else:
            player = state.current_player()
            policy, action = bots[player].step_with_policy(state)
            assert action in state.legal_actions()
            assert sum(q for _, q in policy) == pytest.approx(1.0)
            searches += not bots[player].report.forced
            moves -= 1
        state.apply_action(action)
    return searches


@pytest.mark.parametrize("board", ["silverman4x4", "microchess"])
def test_a_whole_game_of_kriegspiel_is_played_with_the_bots_own_beliefs(board):
    # Histories outgrow any limit here; the bot goes on with a sample and says so.
    assert play(f"python_kriegspiel(board={board},horizon=12)", nodes=100, moves=200) >= 3


@pytest.mark.parametrize("name", SAMPLE)
def test_two_bots_play_each_other(name):
    assert play(name, moves=6) >= 2


@pytest.mark.slow
@pytest.mark.parametrize("name", registered())
def test_two_bots_play_each_other_in_every_loadable_game(name):
    game = turn_based(pyspiel.load_game(SMALLER.get(name, name)))
    if not game.get_type().provides_information_state_string:
        with pytest.raises(ValueError, match="has no information state string"):
            SearchBot(game, 0, Budget(nodes=1))
        pytest.skip(f"{name} does not say what players know")
    assert play(name, nodes=60, moves=20) >= 1


@pytest.mark.parametrize(
    ("name", "nodes", "seeds"),
    [("phantom_ttt", 200, (0, 1, 2)), ("python_kriegspiel(board=silverman4x4)", 400, (1,))],
)
def test_games_in_which_a_player_moves_twice_in_a_row_unnoticed(name, nodes, seeds):
    """The current infoset used to have two parent sequences here."""
    for seed in seeds:
        assert play(name, nodes=nodes, moves=10, seed=seed) > 4
