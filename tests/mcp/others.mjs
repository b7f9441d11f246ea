// Clients of other houses against `rye mcp` in the folder where this runs:
//
//     node others.mjs MODULES RYE
//
// MODULES is a folder with `@ai-sdk/mcp` and `@modelcontextprotocol/client`.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [modules, rye] = process.argv.slice(2);
const resolve = createRequire(`${modules}/package.json`).resolve;
const load = (name) => import(pathToFileURL(resolve(name)));
const args = ["mcp", "--expose", "tool:*"];
const server = { command: rye, args, cwd: process.cwd(), env: process.env };

const same = (got, want) => {
  if (JSON.stringify(got) !== JSON.stringify(want)) {
    throw new Error(`${JSON.stringify(got)} is not ${JSON.stringify(want)}`);
  }
};

const { createMCPClient } = await load("@ai-sdk/mcp");
const { Experimental_StdioMCPTransport: Stdio } = await load("@ai-sdk/mcp/mcp-stdio");
const ai = await createMCPClient({ transport: new Stdio(server) });
const tools = await ai.tools();
const said = await tools.echo.execute({ text: "hi" }, { toolCallId: "1", messages: [] });
same(said.structuredContent, { text: "hi" });
await ai.close();
console.log("@ai-sdk/mcp: connected as it does by itself, listed and called");

const { Client } = await load("@modelcontextprotocol/client");
const { StdioClientTransport } = await load("@modelcontextprotocol/client/stdio");
const client = new Client({ name: "test", version: "1" });
await client.connect(new StdioClientTransport(server));
const listed = await client.listTools();
same(listed.tools.some((tool) => tool.name === "echo"), true);
const result = await client.callTool({ name: "echo", arguments: { text: "hi" } });
same(result.structuredContent, { text: "hi" });
await client.close();
console.log("@modelcontextprotocol/client: connected, listed and called");
