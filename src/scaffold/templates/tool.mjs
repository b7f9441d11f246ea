// /// rye
// version = "1.0.0"
// tool_type = "tool"
// executor_id = "rye/core/runtimes/node/node"
// category = "{{category}}"
// description = "Greets somebody; say here what it does."
//
// [config_schema]
// type = "object"
// additionalProperties = false
//
// [config_schema.properties.name]
// type = "string"
// description = "Whom to greet"
// default = "world"
// ///

// {{title}}
import { readFileSync } from "node:fs";

// Parameters come as one JSON object on standard input; what is printed is the result.
const params = JSON.parse(readFileSync(0, "utf8"));
console.log(JSON.stringify({ greeting: "hello, " + params.name }));
