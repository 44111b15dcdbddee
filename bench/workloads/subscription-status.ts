import assert from "node:assert/strict";
import { registerAccounts } from "../fixtures/accounts";
import { purchase } from "../fixtures/billing";
import type { Bench } from "../lib/bench";
import { homeport, NAMES, peer } from "../lib/contenders";
import { type Drive, race } from "../lib/race";
import type { Server } from "../lib/server";
import { byThroughput, type Section } from "../lib/table";
import { wrk } from "../lib/wrk";

const PATH = "/api/subscription/status";
/** Of what the bare handler answers. */
const LEAST = 0.5;

/** A subscriber's status by bearer token, against a bare handler that makes one Prisma read of the same rows. */
export async function subscriptionStatus(bench: Bench): Promise<Section> {
  let accountId = "";
  const prepareProduct = async ({ url }: Server): Promise<Drive> => {
    const [account] = await registerAccounts(url, 1);
    if (!account) throw new Error("No account");
    accountId = account.id;
    const { path, expect, ...delivery } = purchase(accountId).shot;
    assert.equal((await fetch(url + path, delivery)).status, expect);
    const headers = { authorization: `Bearer ${account.token}` };
    const status = (await (await fetch(url + PATH, { headers })).json()) as { isActive: boolean };
    assert.equal(status.isActive, true);
    return (seconds) => wrk(url + PATH, seconds, headers);
  };
  const preparePeer = async ({ url }: Server): Promise<Drive> => {
    const { lines } = (await (await fetch(url + PATH)).json()) as { lines: unknown[] };
    assert.equal(lines.length, 1);
    return (seconds) => wrk(url + PATH, seconds);
  };
  const results = await race([
    homeport(bench, prepareProduct),
    peer(bench, NAMES.prisma, "prisma-read.ts", preparePeer, () => ({
      DATABASE_URL: bench.env.DATABASE_URL ?? "",
      ACCOUNT_ID: accountId,
    })),
  ]);
  return { title: "subscription/status", rows: byThroughput(results, { [NAMES.prisma]: LEAST }), results };
}
