// /// rye
// version = "1.0.0"
// tool_type = "tool"
// executor_id = "rye/core/runtimes/code/snippet"
// category = "runtimes"
// description = "Adds numbers."
//
// [input_schema.properties.numbers]
// type = "array"
// ///

params.numbers.reduce((sum, number) => sum + number, 0);
