"""Docstrings here are plain text with Google's sections; this makes them reStructuredText.

Names in `single backticks` become literals, indented paragraphs become literal blocks, and
characters that mean something in reStructuredText only (stars, bars, trailing underscores)
stay what they are.
"""

import re

_SECTIONS = ("Args:", "Returns:", "Raises:", "Attributes:", "Yields:")
_LITERAL = re.compile(r"(?<!`)`([^`]+)`(?!`)")


def _escaped(text):
    parts = []
    for i, part in enumerate(re.split(r"(``[^`]+``)", _LITERAL.sub(r"``\1``", text))):
        if i % 2:
            parts.append(part)
        else:
            part = part.replace("\\", "\\\\").replace("`", "\\`")
            part = re.sub(r"([*|])", r"\\\1", part)
            parts.append(re.sub(r"(?<=\w)_(?!\w)", r"\\_", part))
    # A literal must not touch a letter after it.
    return re.sub(r"(``[^`]+``)(?=\w)", r"\1\\ ", "".join(parts))


def _paragraphs(lines):
    block = []
    for line in [*lines, ""]:
        if line.strip():
            block.append(line)
        elif block:
            yield block
            block = []


def _converted(block):
    if block[0].lstrip().startswith(">>>"):
        return block
    is_list = re.match(r"(-|\*|\d+\.) ", block[0])
    if any(line.startswith(" ") for line in block) and not is_list:
        if not block[0].startswith(" "):
            # A sentence with an indented list right below it.
            first = next(i for i, line in enumerate(block) if line.startswith(" "))
            return [*map(_escaped, block[:first]), "", *_converted(block[first:])]
        return ["::", "", *("    " + line for line in block)]
    return [_escaped(line) for line in block]


def _convert(app, what, name, obj, options, lines):
    """Handler of autodoc-process-docstring; runs before napoleon's."""
    converted = []
    in_section = False
    for block in _paragraphs(lines):
        if block[0].strip() in _SECTIONS:
            in_section = True
            converted += [block[0], *map(_escaped, block[1:]), ""]
        elif in_section and block[0].startswith(" "):
            converted += [*map(_escaped, block), ""]
        else:
            in_section = False
            converted += [*_converted(block), ""]
    lines[:] = converted


def setup(app):
    """Registers the handler."""
    app.setup_extension("sphinx.ext.autodoc")
    app.connect("autodoc-process-docstring", _convert, priority=100)
    return {"version": "1", "parallel_read_safe": True}
