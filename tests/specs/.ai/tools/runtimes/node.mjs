// /// rye
// version = "1.0.0"
// tool_type = "tool"
// executor_id = "rye/core/runtimes/node/node"
// category = "runtimes"
// description = "Adds two numbers"
// ///

let text = "";
for await (const piece of process.stdin) text += piece;
const { a, b } = JSON.parse(text);
console.log(JSON.stringify({ sum: a + b }));
