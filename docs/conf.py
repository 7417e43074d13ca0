"""How the documentation is built: `make docs`, offline, warnings are errors."""

import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).parent.parent
sys.path.insert(0, str(pathlib.Path(__file__).parent / "_ext"))
sys.path.insert(0, str(ROOT))
# Notebooks run in processes of their own, which must find this package and not another.
os.environ["PYTHONPATH"] = os.pathsep.join(
    filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")])
)
os.environ["JAX_ENABLE_X64"] = "1"
os.environ.setdefault("JAX_PLATFORMS", "cpu")

import klss_spiel  # noqa: E402

project = "klss_spiel"
author = "the authors of klss_spiel"
project_copyright = "the authors of klss_spiel, Apache-2.0"
release = version = klss_spiel.__version__

extensions = [
    "myst_nb",
    "plain_docstrings",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
]
exclude_patterns = ["_build", "results/**", "api/_generated"]

html_theme = "furo"
html_title = f"klss_spiel {release}"
html_static_path: list[str] = []

myst_enable_extensions = ["colon_fence", "dollarmath", "deflist"]
myst_heading_anchors = 3

nb_execution_mode = "cache"
nb_execution_raise_on_error = True
nb_execution_timeout = 900
nb_execution_show_tb = True
# Progress and jax's remarks about accelerators are not part of the text.
nb_output_stderr = "remove"
nb_merge_streams = True

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_default_options = {"members": True, "show-inheritance": False}
autodoc_preserve_defaults = True
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_ivar = True
