"""Adds two numbers."""
__version__ = "1.0.0"
__tool_type__ = "tool"
__executor_id__ = "rye/core/runtimes/python/function"
__category__ = "runtimes"
__tool_description__ = "Adds two numbers"


def execute(params, project_path):
    if "a" not in params:
        raise ValueError("no a")
    return {"sum": params["a"] + params["b"], "at": project_path}
