import assert from "node:assert/strict";
import { registerAccounts } from "../../fixtures/accounts";
import { newPurchase } from "../../fixtures/billing";
import type { Bench } from "../../lib/bench";
import { homeport, NAMES, peer } from "../../lib/candidates";
import { type ApplyLoad, compare } from "../../lib/compare";
import type { Server } from "../../lib/server";
import { byThroughput, type Section } from "../../lib/table";
import { wrk } from "../../lib/wrk";

const PATH = "/api/subscription/status";
/** The minimum share of the plain handler's throughput. */
const MIN_RATIO = 0.5;

/** A subscriber's status by bearer token, compared with a plain handler that makes one Prisma query for the same rows. */
export async function subscriptionStatus(bench: Bench): Promise<Section> {
  let accountId = "";
  const prepareHomeport = async ({ url }: Server): Promise<ApplyLoad> => {
    const [account] = await registerAccounts(url, 1);
    if (!account) throw new Error("No account");
    accountId = account.id;
    const { path, expectedStatus: expect, ...delivery } = newPurchase(accountId).shot;
    assert.equal((await fetch(url + path, delivery)).status, expect);
    const headers = { authorization: `Bearer ${account.token}` };
    const status = (await (await fetch(url + PATH, { headers })).json()) as { isActive: boolean };
    assert.equal(status.isActive, true);
    return (seconds) => wrk(url + PATH, seconds, headers);
  };
  const preparePeer = async ({ url }: Server): Promise<ApplyLoad> => {
    const { lines } = (await (await fetch(url + PATH)).json()) as { lines: unknown[] };
    assert.equal(lines.length, 1);
    return (seconds) => wrk(url + PATH, seconds);
  };
  const results = await compare([
    homeport(bench, prepareHomeport),
    peer(bench, NAMES.prisma, "prisma-read.ts", preparePeer, () => ({
      DATABASE_URL: bench.env.DATABASE_URL ?? "",
      ACCOUNT_ID: accountId,
    })),
  ]);
  return { title: "subscription/status", rows: byThroughput(results, { [NAMES.prisma]: MIN_RATIO }), results };
}
