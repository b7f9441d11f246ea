#!/usr/bin/env node
// about: the server of the how-to: queries a table of orders
// row: howto
// mode: server
// exec: args: [--readonly]
// exec: env: [DATABASE_URL]
// exec: timeout_ms: 10000
// call: {"query": "open"}
// expect: result {"rows": [{"id": 1, "total": 12.5}, {"id": 3, "total": 7}], "from": "orders://test"}
// call: {"query": "paid"}
// expect: result {"rows": [{"id": 2, "total": 99}], "from": "orders://test"}
// call: {"query": "drop table"}
// expect: error no such query: drop table
// call: {"query": "none"}
// expect: result {"rows": [], "from": "orders://test"}

const orders = [
  { id: 1, status: "open", total: 12.5 },
  { id: 2, status: "paid", total: 99 },
  { id: 3, status: "open", total: 7 },
];

if (process.argv[2] !== "--readonly") process.exit(2);
const lines = require("node:readline").createInterface({ input: process.stdin });
lines.on("line", (line) => {
  const { id, params } = JSON.parse(line);
  const { query } = params.args;
  const answer = { jsonrpc: "2.0", id };
  if (["open", "paid", "none"].includes(query)) {
    const found = orders.filter((order) => order.status === query);
    const rows = found.map(({ id, total }) => ({ id, total }));
    answer.result = { rows, from: process.env.DATABASE_URL };
  } else {
    answer.error = { code: -32000, message: `no such query: ${query}` };
  }
  console.log(JSON.stringify(answer));
});
