// An authorization server on loopback for acceptance rows, and the browser that goes there.
//
//   node authority.mjs serve FILE   writes its address into FILE and appends what it is told
//   node authority.mjs visit URL    opens a page, follows where it leads, and prints the last answer
import { createHash } from "node:crypto";
import { appendFileSync, renameSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";

const [mode, argument] = process.argv.slice(2);
if (mode === "visit") {
  const answer = await fetch(argument);
  console.log(answer.status, await answer.text());
} else {
  let challenge = "";
  let tokens = 0;
  const server = createServer(async (request, response) => {
    const url = new URL(request.url, "http://127.0.0.1");
    let body = "";
    for await (const chunk of request) body += chunk;
    const form = new URLSearchParams(body);
    appendFileSync(argument, `${url.pathname} ${body}\n`);
    const answer = (status, value) => {
      response.writeHead(status, { "content-type": "application/json" });
      response.end(JSON.stringify(value));
    };
    if (url.pathname === "/authorize") {
      challenge = url.searchParams.get("code_challenge");
      const back = new URL(url.searchParams.get("redirect_uri"));
      back.searchParams.set("code", "code-of-this-test");
      back.searchParams.set("state", url.searchParams.get("state"));
      response.writeHead(302, { location: back.href });
      response.end();
    } else if (url.pathname === "/revoke") {
      answer(200, {});
    } else {
      const proof = createHash("sha256").update(form.get("code_verifier") ?? "").digest("base64url");
      const good = form.get("code") === "code-of-this-test" && proof === challenge;
      if (!good) return answer(400, { error: "invalid_grant" });
      tokens += 1;
      answer(200, {
        access_token: `access-${tokens}-of-this-test`,
        refresh_token: `refresh-${tokens}-of-this-test`,
        token_type: "Bearer",
        expires_in: 3600,
        account: { email_address: "who@x.example" },
      });
    }
  });
  server.listen(0, "127.0.0.1", () => {
    writeFileSync(`${argument}.new`, `http://127.0.0.1:${server.address().port}\n`);
    renameSync(`${argument}.new`, argument);
  });
}
