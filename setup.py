"""Package metadata of klss_spiel."""

import pathlib
import re

import setuptools

_ROOT = pathlib.Path(__file__).parent
_VERSION = re.search(
    r'__version__ = "([^"]+)"', (_ROOT / "klss_spiel" / "__init__.py").read_text()
).group(1)

_WEB = ["starlette>=0.46", "uvicorn>=0.35", "websockets>=15.0"]

setuptools.setup(
    name="klss_spiel",
    version=_VERSION,
    description="Search in imperfect-information games without common knowledge, for OpenSpiel.",
    long_description=(_ROOT / "README.md").read_text(),
    long_description_content_type="text/markdown",
    license_expression="Apache-2.0",
    license_files=["LICENSE"],
    python_requires=">=3.11",
    # Only the import package: the top-level names games, algorithms and run
    # are links into it and must never be importable by themselves.
    packages=setuptools.find_packages(include=["klss_spiel", "klss_spiel.*"]),
    package_data={"klss_spiel": ["py.typed", "data/weights/*.safetensors", "web/static/*"]},
    install_requires=[
        "open_spiel>=2.0",
        "numpy>=2.0",
        # jax 0.11 and later need Python 3.12.
        'jax>=0.6,<0.11; python_version < "3.12"',
        'jax>=0.6; python_version >= "3.12"',
        "absl-py>=2.0",
        "highspy>=1.10",
        "numba>=0.61",
        # Trained files; arrays only, unlike pickles.
        "safetensors>=0.4.3",
    ],
    extras_require={
        "notebook": ["tqdm>=4.60", "ipywidgets>=8.0"],
        "train": ["optax>=0.2.4"],
        "plot": ["matplotlib>=3.8"],
        # --executor=ray:...
        "cluster": ["ray>=2.40"],
        "docs": [
            "furo>=2024.8",
            "ipykernel>=6.29",
            "matplotlib>=3.8",
            "myst-nb>=1.2",
            "sphinx>=8.0",
        ],
        "web": _WEB,
        # Tests in a real browser; they use the system's chromium.
        "web-test": [*_WEB, "playwright>=1.49"],
        "peers": ["LiteEFG", "chex"],
        "dev": [
            "hypothesis>=6.100",
            "matplotlib>=3.8",
            "mypy>=1.15",
            "optax>=0.2.4",
            "pytest>=8.0",
            "pytest-xdist>=3.6",
            "ruff>=0.11",
            "scipy>=1.13",
            # Builds the wheel that tests install.
            "setuptools>=77",
            *_WEB,
            # GPL: test oracles only, never imported by the package.
            "chess>=1.11",
            "pyffish>=0.0.88",
        ],
    },
    classifiers=[
        "Programming Language :: Python :: 3.11",
        "Programming Language :: Python :: 3.12",
        "Programming Language :: Python :: 3.13",
        "Typing :: Typed",
    ],
)
