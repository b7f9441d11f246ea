#!/usr/bin/env node
// about: a program in JavaScript, which writes with a line feed and white space around
// row: s2
// call: {"text": "hi"}
// expect: result {"text": "hi"}
let text = "";
process.stdin.on("data", (piece) => (text += piece));
process.stdin.on("end", () => console.log("\n  " + JSON.stringify({ result: JSON.parse(text).args }, null, 2)));
