#!/usr/bin/env python3
"""Cuts the schema of one request out of an OpenAPI 3.1 file, as JSON Schema 2020-12.

    cut.py FILE NAME SOURCE > OUT

FILE is the OpenAPI file as JSON, NAME the schema among its components, SOURCE what the result
says about where it comes from. Kept is NAME with everything that it refers to. Left out is what
no validator reads: descriptions, titles, examples, defaults, discriminators, `x-…`. `nullable`, a
word of OpenAPI 3.0 that the files still use, becomes `anyOf` with `null`. Nothing else changes.
"""

import json
import sys

FILE, NAME, SOURCE = sys.argv[1:]
PLACE = "#/components/schemas/"
# What holds schemas by the names of properties: there a name is not a word of JSON Schema.
NAMED = {"properties", "patternProperties"}
# What holds values of instances.
VALUES = {"const", "enum", "required"}
LEFT_OUT = {
    "default", "deprecated", "description", "discriminator", "example", "examples", "title",
}


def converted(schema):
    if isinstance(schema, list):
        return [converted(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    out = {}
    for word, value in schema.items():
        if word in LEFT_OUT or word == "nullable" or word.startswith("x-"):
            continue
        if word == "$ref":
            assert value.startswith(PLACE), value
            out[word] = "#/$defs/" + value.removeprefix(PLACE)
        elif word in NAMED:
            out[word] = {name: converted(part) for name, part in value.items()}
        else:
            out[word] = value if word in VALUES else converted(value)
    return {"anyOf": [out, {"type": "null"}]} if schema.get("nullable") else out


def referred(schema):
    if isinstance(schema, list):
        for part in schema:
            yield from referred(part)
    elif isinstance(schema, dict):
        for word, value in schema.items():
            if word == "$ref" and isinstance(value, str):
                yield value.removeprefix("#/$defs/")
            else:
                yield from referred(value)


with open(FILE, encoding="utf-8") as file:
    schemas = json.load(file)["components"]["schemas"]
found, wanted = {}, [NAME]
while wanted:
    name = wanted.pop()
    if name not in found:
        found[name] = converted(schemas[name])
        wanted += referred(found[name])
whole = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "$comment": SOURCE,
    "$ref": "#/$defs/" + NAME,
    "$defs": {name: found[name] for name in sorted(found)},
}
json.dump(whole, sys.stdout, indent=1, ensure_ascii=False)
print()
