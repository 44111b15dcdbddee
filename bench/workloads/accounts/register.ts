import { randomUUID } from "node:crypto";
import type { Bench } from "../../lib/bench";
import { homeport, NAMES, PARSE_APP, parsePeer } from "../../lib/candidates";
import { type ApplyLoad, compare } from "../../lib/compare";
import { type RequestSpec, runClosedLoop } from "../../lib/load";
import type { Server } from "../../lib/server";
import { byThroughput, type Section } from "../../lib/table";

const JSON_BODY = { "content-type": "application/json" };
const PASSWORD = "correct horse battery staple";

export function registration(): RequestSpec {
  const body = JSON.stringify({ email: `${randomUUID()}@example.com`, password: PASSWORD, transport: "token" });
  return { method: "POST", path: "/api/auth/register", headers: JSON_BODY, body, expectedStatus: 201 };
}

function parseRequest(): RequestSpec {
  const email = `${randomUUID()}@example.com`;
  const body = JSON.stringify({ username: email, email, password: PASSWORD });
  return { method: "POST", path: "/parse/users", headers: { ...JSON_BODY, ...PARSE_APP }, body, expectedStatus: 201 };
}

/** New accounts with their first session, eight concurrently. */
export async function register(bench: Bench): Promise<Section> {
  const prepare =
    (shot: () => RequestSpec) =>
    async ({ url }: Server): Promise<ApplyLoad> =>
    (seconds) =>
      runClosedLoop(url, { connections: 8, seconds }, shot);
  const results = await compare([
    homeport(bench, prepare(registration)),
    ...parsePeer(bench, prepare(parseRequest)),
    ...parsePeer(bench, prepare(parseRequest), NAMES.parseJs),
  ]);
  return { title: "register, bcrypt cost 10", rows: byThroughput(results), results };
}
