"""Settings shared by all tests."""

import jax
from hypothesis import settings

import klss_spiel  # noqa: F401  (registers the games)

jax.config.update("jax_enable_x64", True)

# Times differ between machines; correctness does not.
settings.register_profile("klss_spiel", deadline=None, max_examples=25, derandomize=True)
settings.load_profile("klss_spiel")
