export const __version__ = "1.0.0";
export const __tool_type__ = "tool";
export const __executor_id__ = "rye/core/runtimes/node/node";
export const __category__ = "runtimes";
export const __tool_description__ = "Adds two numbers";

let text = "";
for await (const piece of process.stdin) text += piece;
const { a, b } = JSON.parse(text);
console.log(JSON.stringify({ sum: a + b }));
