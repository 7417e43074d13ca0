"""Search in imperfect-information games without common knowledge, for OpenSpiel.

Importing the package registers its games with OpenSpiel; jax and numba are
imported only by the modules that need them.
"""

from klss_spiel import games as games

__version__ = "0.1.0"
