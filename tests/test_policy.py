import copy
import dataclasses
import io
import pickle
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from klss_spiel.npz_files import BrokenFileError
from klss_spiel.openspiel import tree_from_game
from klss_spiel.policy import BehaviorPolicy, fingerprint, same_game
from tests.helpers.games import form_of, random_policy, tree_of

DARK_HEX = "dark_hex(num_rows=2,num_cols=2,gameversion=adh)"
GOOFSPIEL = "goofspiel(num_cards=3,imp_info=True,points_order=descending)"
GAMES = ["kuhn_poker", "liars_dice(dice_sides=3)", GOOFSPIEL, DARK_HEX]

seeds = st.integers(0, 2**32 - 1)


def pure_policy(name, seed):
    """A policy that plays one action at each infoset, so that much is not reached."""
    tree, rng = tree_of(name), np.random.default_rng(seed)
    probabilities = []
    for infosets in tree.infosets:
        of_player = np.zeros(infosets.num_sequences)
        of_player[0] = 1.0
        chosen = rng.integers(infosets.num_actions[infosets.decisions])
        of_player[infosets.first_sequence[infosets.decisions] + chosen] = 1.0
        probabilities.append(of_player)
    return BehaviorPolicy(tree, tuple(probabilities))


@pytest.mark.parametrize("name", GAMES)
@given(seed=seeds, weight=st.floats(0, 1), pure=st.booleans())
def test_mix_averages_payoffs_against_any_opponent(name, seed, weight, pure):
    draw = pure_policy if pure else random_policy
    first, second, opponent = (draw(name, [seed, i]) for i in range(3))
    mixed = first.mix(second, weight)
    form = form_of(name)

    def payoff(policy, player):
        plans = list(opponent.realization_plans)
        plans[player] = policy.realization_plans[player]
        return form.expected_value((plans[0], plans[1]))

    for player in (0, 1):
        average = (1 - weight) * payoff(first, player) + weight * payoff(second, player)
        assert payoff(mixed, player) == pytest.approx(average, abs=1e-9)


def test_mix_is_not_the_average_per_infoset():
    # Two strategies that never arrive at one infoset together: after checking (only the
    # second strategy does) the mixture must play as the second one does there.
    tree = tree_of("kuhn_poker")
    infosets = tree.infosets[0]
    bettor, checker = (np.ones(infosets.num_sequences) for _ in range(2))
    for infoset in infosets.decisions:
        own = infosets.sequences(infoset)
        opening = infosets.parent_sequence[infoset] == 0
        bettor[own] = [0.0, 1.0]
        checker[own] = [1.0, 0.0] if opening else [0.75, 0.25]
    uniform = BehaviorPolicy.uniform(tree)
    mixed = uniform.replace(0, bettor).mix(uniform.replace(0, checker), 0.5)
    for infoset in infosets.decisions:
        opening = infosets.parent_sequence[infoset] == 0
        expected = [0.5, 0.5] if opening else [0.75, 0.25]
        np.testing.assert_allclose(mixed.probabilities[0][infosets.sequences(infoset)], expected)


def test_mix_refuses_another_tree_and_a_weight_outside_the_unit_interval():
    policy = random_policy("kuhn_poker", 0)
    with pytest.raises(ValueError, match="of two games: expected the game kuhn_poker"):
        policy.mix(random_policy(DARK_HEX, 0), 0.5)
    with pytest.raises(ValueError, match=r"0 <= weight <= 1, got 2\.0"):
        policy.mix(policy, 2.0)


@pytest.mark.parametrize("name", GAMES)
@given(seed=seeds)
def test_reach_is_the_product_of_own_probabilities_on_the_path(name, seed):
    tree = tree_of(name)
    policy = random_policy(name, seed)
    rng = np.random.default_rng(seed)
    for node in rng.integers(0, tree.num_nodes, 20):
        expected = [1.0, 1.0]
        current = int(node)
        while tree.parent[current] >= 0:
            above = int(tree.parent[current])
            mover = int(tree.player[above])
            if mover in (0, 1):
                infosets = tree.infosets[mover]
                infoset = tree.infoset[mover, above]
                index = infosets.actions(infoset).tolist().index(tree.action[current])
                expected[mover] *= policy.probabilities[mover][infosets.sequences(infoset)][index]
            current = above
        for player in (0, 1):
            assert policy.reach(player)[node] == pytest.approx(expected[player], abs=1e-15)


@pytest.mark.parametrize("name", GAMES)
def test_reaches_of_terminals_sum_to_one(name):
    tree = tree_of(name)
    policy = random_policy(name, 5)
    leaves = tree.terminals
    reach = tree.chance_reach * policy.reach(0) * policy.reach(1)
    assert reach[leaves].sum() == pytest.approx(1.0, abs=1e-12)


@given(seed=seeds)
def test_save_and_load_are_inverse(seed, tmp_path_factory):
    policy = random_policy(DARK_HEX, seed)
    path = tmp_path_factory.mktemp("policy") / "policy.npz"
    policy.save(path)
    # A tree built anew, as another process would.
    loaded = BehaviorPolicy.load(path, tree_from_game(DARK_HEX))
    for player in (0, 1):
        np.testing.assert_array_equal(loaded.probabilities[player], policy.probabilities[player])


@pytest.mark.parametrize(
    ("saved", "asked"),
    [
        ("kuhn_poker", "leduc_poker"),
        ("liars_dice(dice_sides=3)", "liars_dice(dice_sides=2)"),
        # The same infosets and labels, other payoffs.
        (
            "goofspiel(num_cards=3,imp_info=True,points_order=descending,returns_type=win_loss)",
            "goofspiel(num_cards=3,imp_info=True,points_order=descending,"
            "returns_type=point_difference)",
        ),
    ],
)
def test_load_refuses_a_policy_of_another_game(saved, asked, tmp_path):
    path = tmp_path / "policy.npz"
    random_policy(saved, 0).save(path)
    short_name = saved.split("(")[0]
    with pytest.raises(ValueError, match=rf"holds a policy of .*{short_name}.*is not the game"):
        BehaviorPolicy.load(path, tree_of(asked))


def test_load_refuses_other_files(tmp_path):
    path = tmp_path / "other.npz"
    np.savez(path, player0=np.ones(13), player1=np.ones(13))
    with pytest.raises(ValueError, match=r"expected a policy in .* lacks meta"):
        BehaviorPolicy.load(path, tree_of("kuhn_poker"))
    np.savez(path, meta=np.array('{"format": "something/9"}'))
    with pytest.raises(ValueError, match="got something/9"):
        BehaviorPolicy.load(path, tree_of("kuhn_poker"))


def test_fingerprint_is_of_the_game_not_of_the_object():
    assert fingerprint(tree_from_game("kuhn_poker")) == fingerprint(tree_of("kuhn_poker"))
    assert len({fingerprint(tree_of(name)) for name in GAMES}) == len(GAMES)


def test_wrong_probabilities_are_refused():
    tree = tree_of("kuhn_poker")
    good = BehaviorPolicy.uniform(tree)
    with pytest.raises(ValueError, match=r"probabilities in kuhn_poker.*shape \(13,\), got \(5,\)"):
        good.replace(0, np.ones(5))
    wrong = good.probabilities[1].copy()
    wrong[1] = 0.75
    with pytest.raises(ValueError, match=r"player 1's probabilities at '.+' sum to 1\.25"):
        good.replace(1, wrong)
    wrong[1:3] = [1.5, -0.5]
    with pytest.raises(ValueError, match="player 1 has a negative"):
        good.replace(1, wrong)
    wrong[1:3] = np.nan
    with pytest.raises(ValueError, match="undefined"):
        good.replace(1, wrong)


def test_uniform_and_random_are_policies():
    for name in GAMES:
        uniform = BehaviorPolicy.uniform(tree_of(name))
        for player in (0, 1):
            infosets = tree_of(name).infosets[player]
            for infoset in infosets.decisions:
                own = uniform.probabilities[player][infosets.sequences(infoset)]
                np.testing.assert_allclose(own, 1.0 / infosets.num_actions[infoset])
        first, again, other = (random_policy(name, seed) for seed in (1, 1, 2))
        np.testing.assert_array_equal(first.probabilities[0], again.probabilities[0])
        assert not np.array_equal(first.probabilities[0], other.probabilities[0])


def test_probabilities_cannot_be_written_to():
    policy = random_policy("kuhn_poker", 0)
    copies = (pickle.loads(pickle.dumps(policy)), copy.deepcopy(policy))
    for same in (policy, *copies):
        for player in (0, 1):
            np.testing.assert_array_equal(same.probabilities[player], policy.probabilities[player])
            with pytest.raises(ValueError, match="read-only"):
                same.probabilities[player][1] = 0.5


def test_lists_are_taken_for_arrays():
    policy = random_policy("kuhn_poker", 0)
    tree = policy.tree
    lists = tuple(probabilities.tolist() for probabilities in policy.probabilities)
    same = BehaviorPolicy(tree, lists)
    for player in (0, 1):
        np.testing.assert_array_equal(same.probabilities[player], policy.probabilities[player])
        replaced = policy.replace(player, lists[player])
        np.testing.assert_array_equal(replaced.probabilities[player], policy.probabilities[player])
    treeplex = form_of("kuhn_poker").treeplexes[0]
    np.testing.assert_array_equal(treeplex.realization_plan(lists[0]), policy.realization_plans[0])
    with pytest.raises(ValueError, match="probabilities of two players, got 1"):
        BehaviorPolicy(tree, lists[:1])
    with pytest.raises(ValueError, match="as 13 numbers, got"):
        BehaviorPolicy(tree, (["a"] * 13, lists[1]))
    with pytest.raises(ValueError, match="expected a GameTree, got str"):
        BehaviorPolicy("kuhn_poker", lists)
    with pytest.raises(ValueError, match="expected player 0 or 1, got 2"):
        policy.replace(2, lists[0])
    with pytest.raises(ValueError, match=r"expected behavior of shape \(13,\), got \(12,\)"):
        treeplex.realization_plan(lists[0][:-1])


def test_policies_of_a_rebuilt_tree_are_of_the_same_game():
    policy = random_policy("kuhn_poker", 0)
    rebuilt = random_policy(tree_from_game("kuhn_poker"), 1)
    assert rebuilt.tree is not policy.tree
    assert same_game(rebuilt.tree, policy.tree)
    expected = policy.mix(random_policy("kuhn_poker", 1), 0.3)
    mixed = policy.mix(rebuilt, 0.3)
    for player in (0, 1):
        np.testing.assert_array_equal(mixed.probabilities[player], expected.probabilities[player])
    assert not same_game(policy.tree, tree_of(DARK_HEX))


def test_who_knows_what_is_part_of_the_game():
    tree = tree_of("kuhn_poker")
    infoset = tree.infoset.copy()
    last = tree.terminals[-1]
    infoset[0, last] = infoset[0, tree.terminals[0]]
    assert not same_game(tree, dataclasses.replace(tree, infoset=infoset))


def broken_files(path):
    """Names of ways to break a file, each with the bytes that it then holds."""
    whole = path.read_bytes()
    half = len(whole) // 2
    flipped = bytearray(whole)
    for place in range(60, len(whole), 7):
        flipped[place] ^= 0xFF
    single = io.BytesIO()
    np.save(single, np.ones(3))
    pickled = io.BytesIO()
    np.savez(pickled, meta=np.array([{}], dtype=object), key=np.array([{}], dtype=object))
    strange = io.BytesIO()
    np.savez(strange, meta=np.array("[1, 2]"), key=np.array(1))
    return {
        "empty": b"",
        "text": b"these are not the arrays you are looking for",
        "cut": whole[:half],
        "headless": whole[half:],
        "without its end": whole[:-30],
        "flipped bits": bytes(flipped),
        "one array": single.getvalue(),
        "pickles": pickled.getvalue(),
        "other contents": strange.getvalue(),
    }


@pytest.mark.parametrize(
    "kind",
    [
        "empty",
        "text",
        "cut",
        "headless",
        "without its end",
        "flipped bits",
        "one array",
        "pickles",
        "other contents",
    ],
)
def test_broken_files_give_one_error(tmp_path, kind):
    path = tmp_path / "policy.npz"
    policy = random_policy("kuhn_poker", 0)
    policy.save(path)
    path.write_bytes(broken_files(path)[kind])
    with pytest.raises(BrokenFileError, match=re.escape(str(path))):
        BehaviorPolicy.load(path, policy.tree)


def test_a_missing_file_is_missing(tmp_path):
    with pytest.raises(FileNotFoundError):
        BehaviorPolicy.load(tmp_path / "nothing.npz", tree_of("kuhn_poker"))
