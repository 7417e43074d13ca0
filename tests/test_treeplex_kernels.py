"""Loops over treeplexes that fill the memory: what `Treeplex` and best responses do."""

import numpy as np
import pytest

from klss_spiel import best_response, treeplex_kernels
from klss_spiel.openspiel import sequence_form_of
from klss_spiel.tree import PLAYERS


@pytest.mark.parametrize("player", PLAYERS)
def test_they_agree_with_the_methods_of_treeplexes(player):
    treeplex = sequence_form_of("leduc_poker").treeplexes[player]
    rng = np.random.default_rng(1)
    plan = rng.random(treeplex.num_sequences)
    plan[rng.random(len(plan)) < 0.6] = 0.0  # Some infosets are not reached at all.
    behavior = treeplex_kernels.behavior_of(treeplex, plan)
    np.testing.assert_allclose(behavior, treeplex.behavior(plan), atol=1e-15)
    np.testing.assert_allclose(
        treeplex_kernels.realization_plan(treeplex, behavior),
        treeplex.realization_plan(behavior),
        atol=1e-15,
    )
    gradient = rng.standard_normal(treeplex.num_sequences)
    expected = best_response.best_response_value(treeplex, gradient.copy())
    assert treeplex_kernels.best_response_value(treeplex, gradient) == pytest.approx(expected)
    single = treeplex_kernels.realization_plan(treeplex, behavior.astype(np.float32))
    assert single.dtype == np.float32 and "levels" in vars(treeplex)
