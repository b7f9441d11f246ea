// /// rye
// version = "1.0.0"
// tool_type = "tool"
// executor_id = "rye/core/runtimes/code/snippet"
// category = "{{category}}"
// description = "Greets somebody; say here what it does."
// calls = []
//
// [input_schema]
// type = "object"
// additionalProperties = false
//
// [input_schema.properties.name]
// type = "string"
// description = "Whom to greet"
// default = "world"
// ///

// {{title}}
//
// rye runs this by itself, without files or a network. It calls what `calls` lists above, such as
// "tool:acme/*": `const rows = await tools.acme.sales({branch: "lima"})`.
__out = { greeting: "hello, " + params.name };
