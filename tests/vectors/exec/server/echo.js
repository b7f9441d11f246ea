#!/usr/bin/env node
// about: a server in JavaScript that answers each line when it comes
// row: s3
// call: {"text": "one"}
// expect: result {"text": "one"}
// call: {"text": "two"}
// expect: result {"text": "two"}
require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const call = JSON.parse(line);
  console.log(JSON.stringify({ jsonrpc: "2.0", id: call.id, result: call.params.args }));
});
