"""The caller's parameters, and the answer.

A tool defines CONFIG_SCHEMA and run(params), and ends in main(CONFIG_SCHEMA, run). The chain checks
the parameters too; the tool does not rely on it.
"""
import json
import sys

MAX_INPUT = 64 * 1024 * 1024  # bytes of parameters; four times the largest content of rye/file-system/write


class Refused(Exception):
    """A request that is not carried out. The message is one clear sentence for the caller."""

    def __init__(self, message, **details):
        super().__init__(message)
        self.details = details


def check(name, value, rule):
    """One parameter against its entry in the schema. Gives its value, with 3.0 as the integer 3."""
    if rule["type"] == "integer":
        if isinstance(value, float) and value.is_integer():
            value = int(value)  # JSON Schema counts 3.0 as an integer
        if not isinstance(value, int) or isinstance(value, bool):
            raise Refused("`%s` must be an integer" % name)
        if not rule["minimum"] <= value <= rule["maximum"]:
            raise Refused("`%s` must be from %d to %d" % (name, rule["minimum"], rule["maximum"]))
    elif rule["type"] == "boolean":
        if not isinstance(value, bool):
            raise Refused("`%s` must be true or false" % name)
    elif rule["type"] == "array":
        if not isinstance(value, list):
            raise Refused("`%s` must be a list" % name)
        if len(value) > rule["maxItems"]:
            raise Refused("`%s` must not hold more than %d values" % (name, rule["maxItems"]))
        value = [check("%s/%d" % (name, at), item, rule["items"]) for at, item in enumerate(value)]
    else:
        if not isinstance(value, str):
            raise Refused("`%s` must be a string" % name)
        try:
            value.encode("utf-8")
        except UnicodeEncodeError:
            raise Refused("`%s` holds half of a surrogate pair, which is not text" % name)
        if len(value) < rule.get("minLength", 0):
            raise Refused("`%s` must not be empty" % name)
        if len(value) > rule.get("maxLength", MAX_INPUT):
            raise Refused("`%s` must not be longer than %d characters" % (name, rule["maxLength"]))
    return value


def read_params(schema):
    """The parameters from standard input, checked against the tool's schema, with defaults filled in."""
    data = sys.stdin.buffer.read(MAX_INPUT + 1)
    if len(data) > MAX_INPUT:
        raise Refused("the parameters are larger than %d bytes" % MAX_INPUT)
    try:
        given = json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError):
        raise Refused("the parameters on standard input are not one JSON object in UTF-8")
    if not isinstance(given, dict):
        raise Refused("the parameters on standard input are not one JSON object in UTF-8")
    rules = schema["properties"]
    for name in given:
        if name not in rules:
            shown = name.encode("utf-8", "replace").decode("utf-8")
            raise Refused("unknown parameter `%s`; known are: %s" % (shown, ", ".join(rules)))
    for name in schema["required"]:
        if name not in given:
            raise Refused("the parameter `%s` is missing" % name)
    params = {name: rule.get("default") for name, rule in rules.items()}
    for name, value in given.items():
        params[name] = check(name, value, rules[name])
    return params


def answer(result, status):
    """Prints the result as one line of JSON and gives the exit status."""
    text = json.dumps(result, ensure_ascii=False)
    sys.stdout.buffer.write(text.encode("utf-8", "replace") + b"\n")
    sys.stdout.buffer.flush()
    return status


def main(schema, run):
    """Answers the caller with what run(params) gives, or with why it was refused. Gives the exit status."""
    try:
        return answer(run(read_params(schema)), 0)
    except Refused as refused:
        return answer(dict({"success": False, "error": str(refused)}, **refused.details), 1)
    except OSError as error:
        return answer({"success": False, "error": "the system refused: %s" % error.strerror}, 1)
