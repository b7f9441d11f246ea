"""{{title}}"""

__version__ = "1.0.0"
__tool_type__ = "tool"
__executor_id__ = "rye/core/runtimes/python/function"
__category__ = "{{category}}"
__tool_description__ = "Greets somebody; say here what it does."

CONFIG_SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "description": "Whom to greet", "default": "world"},
    },
    "additionalProperties": False,
}


def execute(params, project_path):
    """Its parameters come as a dictionary; what it returns is the result."""
    return {"greeting": "hello, " + params["name"]}
