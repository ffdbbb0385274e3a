// Drives an MCP server with the client of the official SDK, and prints what was seen as one line of JSON.
// Arguments: the calls as JSON, then `stdio` with a command line, or `http` with an address.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const [calls, way, target, ...args] = process.argv.slice(2);
const transport =
  way === "http"
    ? new StreamableHTTPClientTransport(new URL(target))
    : new StdioClientTransport({ command: target, args, env: process.env, cwd: process.cwd() });
const client = new Client({ name: "ona-xtask", version: "0" });
await client.connect(transport);
const seen = { server: client.getServerVersion(), calls: [] };
seen.tools = (await client.listTools()).tools.map((tool) => tool.name);
for (const call of JSON.parse(calls)) {
  try {
    seen.calls.push({ result: await client.callTool(call) });
  } catch (error) {
    seen.calls.push({ error: { code: error.code, message: error.message } });
  }
}
await client.close();
console.log(JSON.stringify(seen));
