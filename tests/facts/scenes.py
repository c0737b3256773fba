"""What stands beside the scenes of built captures."""

import ast

from bed import captures


def constant(name, wanted, absent=None):
    """A constant of the scene of a capture."""
    source = captures("synthetic", "malformed")[name].with_suffix(".py").read_text(encoding="utf-8")
    return next(
        (
            ast.literal_eval(each.value)
            for each in ast.parse(source).body
            if isinstance(each, ast.Assign) and ast.unparse(each.targets[0]) == wanted
        ),
        absent,
    )
