// {{title}}
import { readFileSync } from "node:fs";

export const __version__ = "1.0.0";
export const __tool_type__ = "tool";
export const __executor_id__ = "rye/core/runtimes/node/node";
export const __category__ = "{{category}}";
export const __tool_description__ = "Greets somebody; say here what it does.";
export const CONFIG_SCHEMA = {
  type: "object",
  properties: {
    name: { type: "string", description: "Whom to greet", default: "world" },
  },
  additionalProperties: false,
};

// Parameters come as one JSON object on standard input; what is printed is the result.
const params = JSON.parse(readFileSync(0, "utf8"));
console.log(JSON.stringify({ greeting: "hello, " + params.name }));
