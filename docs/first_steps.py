"""First steps with the package, from a tree to a game and an evaluator of one's own.

Run it anywhere (`python first_steps.py`); it takes seconds and prints what it finds.
"""

import pathlib
import tempfile

import numpy as np
import pyspiel

import klss_spiel as ks
from klss_spiel.games.registration import RegisteredGame, register

# --- A game as arrays, solved exactly and by CFR, and a strategy kept in a file. ---

tree = ks.tree_from_game("kuhn_poker")
exact = ks.solve_lp(tree)
print(f"kuhn_poker is worth {exact.value:.6f} to player 0")
blueprint = ks.cfr.solve(tree, iterations=20).policy
with tempfile.TemporaryDirectory() as folder:
    path = pathlib.Path(folder) / "blueprint.npz"
    blueprint.save(path)
    blueprint = ks.BehaviorPolicy.load(path, tree)

# --- The strategy refined by two methods: over a whole game, and while it plays. ---

before = ks.loss_of_player(blueprint, 0, exact.value)
for recipe in (ks.recipes.MAXMARGIN, ks.recipes.SAFE_1_KLSS()):
    refined = ks.refine(blueprint, recipe, player=0).policy
    after = ks.loss_of_player(refined, 0, exact.value)
    print(f"{recipe.name}: player 0 loses {after:.4f} instead of {before:.4f}")


# --- A game of one's own: player 0 sees a coin and names it, player 1 believes or doubts. ---

_TYPE = pyspiel.GameType(
    short_name="python_coin_claim",
    long_name="Coin Claim",
    dynamics=pyspiel.GameType.Dynamics.SEQUENTIAL,
    chance_mode=pyspiel.GameType.ChanceMode.EXPLICIT_STOCHASTIC,
    information=pyspiel.GameType.Information.IMPERFECT_INFORMATION,
    utility=pyspiel.GameType.Utility.ZERO_SUM,
    reward_model=pyspiel.GameType.RewardModel.TERMINAL,
    max_num_players=2,
    min_num_players=2,
    provides_information_state_string=True,
    provides_information_state_tensor=False,
    provides_observation_string=True,
    provides_observation_tensor=False,
    parameter_specification={"players": 2},
)
_INFO = pyspiel.GameInfo(
    num_distinct_actions=2,
    max_chance_outcomes=2,
    num_players=2,
    min_utility=-2.0,
    max_utility=2.0,
    utility_sum=0.0,
    max_game_length=2,
)
_HEADS = 1


class CoinClaimGame(RegisteredGame):
    """Heads is worth 1 to player 0 if believed; doubt doubles: 2 for the truth, -2 for a lie."""

    def __init__(self, params=None):
        super().__init__(_TYPE, _INFO, params)

    def new_initial_state(self):
        """Before the coin is tossed."""
        return CoinClaimState(self)

    def make_py_observer(self, iig_obs_type=None, params=None):
        """What players are told: their own name, the coin for player 0, and the moves."""
        return CoinClaimObserver()


class CoinClaimState(pyspiel.State):
    """The moves so far: coin, claim, answer."""

    def __init__(self, game):
        super().__init__(game)
        self.moves = []

    def current_player(self):
        """Chance, player 0, player 1, nobody."""
        players = (pyspiel.PlayerId.CHANCE, 0, 1, pyspiel.PlayerId.TERMINAL)
        return players[len(self.moves)]

    def _legal_actions(self, player):
        return [0, 1]

    def chance_outcomes(self):
        """A fair coin."""
        return [(0, 0.5), (1, 0.5)]

    def _apply_action(self, action):
        self.moves.append(int(action))

    def _action_to_string(self, player, action):
        return (("tails", "heads"), ("believe", "doubt"))[player == 1][action]

    def is_terminal(self):
        """Whether player 1 has answered."""
        return len(self.moves) == 3

    def returns(self):
        """Payoffs at the end."""
        if not self.is_terminal():
            return [0.0, 0.0]
        coin, claim, doubted = self.moves
        if not doubted:
            gain = 1.0 if claim == _HEADS else 0.0
        else:
            gain = 2.0 if claim == coin else -2.0
        return [gain, -gain]

    def __str__(self):
        return "".join(map(str, self.moves))


class CoinClaimObserver:
    """Both players see the moves after the toss, player 0 the coin as well."""

    tensor = np.zeros(0, np.float32)
    dict: dict = {}  # noqa: RUF012  (OpenSpiel's interface)

    def set_from(self, state, player):
        """Nothing: the game has no tensors."""

    def string_from(self, state, player):
        """The player's information state."""
        coin = state.moves[0] if state.moves and player == 0 else "?"
        return f"p{player} coin:{coin} moves:{''.join(map(str, state.moves[1:]))}"


register(_TYPE, CoinClaimGame)
ks.check_game("python_coin_claim")
own = ks.solve_lp("python_coin_claim")
print(f"python_coin_claim is worth {own.value:.6f} to player 0")


# --- An evaluator of one's own: what unfinished positions are worth, many at a time. ---


def optimist(states):
    """Player 0 will be believed."""
    return np.array([0.5 * (state.moves[1:2] == [_HEADS]) for state in states])


# --- A small tournament between bots that search, refine and play anything. ---


class RandomBot:
    """Plays whatever is legal."""

    def __init__(self, seed):
        self._rng = np.random.default_rng(seed)

    def restart(self):
        """Nothing to forget."""

    def step(self, state):
        """Any action."""
        return int(self._rng.choice(state.legal_actions()))


def seats(player):
    """Three bots for one seat of the own game."""
    policy = ks.BehaviorPolicy.uniform(own.policy.tree)
    budget = ks.Budget(nodes=100)
    return {
        "random": RandomBot(player),
        "search": ks.SearchBot("python_coin_claim", player, budget, evaluator=optimist),
        "subgames": ks.SubgameBot(policy, "maxmargin", player, np.random.default_rng(player)),
    }


first, second = seats(0), seats(1)
rng = np.random.default_rng(0)
game = ks.load_game("python_coin_claim")
for name, bot in first.items():
    for other_name, other in second.items():
        total = 0.0
        for _ in range(20):
            for player in (bot, other):
                player.restart()
            state = game.new_initial_state()
            while not state.is_terminal():
                if state.is_chance_node():
                    state.apply_action(int(rng.integers(2)))
                else:
                    state.apply_action((bot, other)[state.current_player()].step(state))
            total += state.returns()[0]
        print(f"{name} against {other_name}: {total / 20:+.2f} a game")


# --- What a notebook shows of all this. ---

state = ks.load_game("python_dark_chess(board=microchess)").new_initial_state()
picture = ks.render(state, player=0)
shown = [tree._repr_html_(), refined._repr_html_(), picture._repr_svg_()]
print(f"a notebook would show {len(shown)} things of {[len(text) for text in shown]} letters")
print(picture)
