import { randomUUID } from "node:crypto";
import type { Bench } from "../lib/bench";
import { homeport, PARSE_APP, parseServer } from "../lib/contenders";
import { flatOut, type Shot } from "../lib/load";
import { type Drive, race } from "../lib/race";
import type { Server } from "../lib/server";
import { byThroughput, type Section } from "../lib/table";

const JSON_BODY = { "content-type": "application/json" };
const PASSWORD = "correct horse battery staple";

function productShot(): Shot {
  const body = JSON.stringify({ email: `${randomUUID()}@example.com`, password: PASSWORD, transport: "token" });
  return { method: "POST", path: "/api/auth/register", headers: JSON_BODY, body, expect: 201 };
}

function parseShot(): Shot {
  const email = `${randomUUID()}@example.com`;
  const body = JSON.stringify({ username: email, email, password: PASSWORD });
  return { method: "POST", path: "/parse/users", headers: { ...JSON_BODY, ...PARSE_APP }, body, expect: 201 };
}

/** New accounts, eight at a time, each with its first session. */
export async function register(bench: Bench): Promise<Section> {
  const prepare =
    (shot: () => Shot) =>
    async ({ url }: Server): Promise<Drive> =>
    (seconds) =>
      flatOut(url, { connections: 8, seconds }, shot);
  const results = await race([
    homeport(bench, prepare(productShot)),
    parseServer(bench, prepare(parseShot), "native"),
    parseServer(bench, prepare(parseShot), "js"),
  ]);
  return { title: "register, bcrypt cost 10", rows: byThroughput(results), results };
}
