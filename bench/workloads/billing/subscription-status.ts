import assert from "node:assert/strict";
import { addAccounts, type SignedIn, writeRequests } from "../../fixtures/accounts";
import { newPurchase } from "../../fixtures/billing";
import type { Bench } from "../../lib/bench";
import { homeport, NAMES, peer } from "../../lib/candidates";
import { type ApplyLoad, compare } from "../../lib/compare";
import { runClosedLoop } from "../../lib/load";
import { SCALE } from "../../lib/scale";
import type { Server } from "../../lib/server";
import { byThroughput, type Section } from "../../lib/table";
import { wrk } from "../../lib/wrk";

const PATH = "/api/subscription/status";
const CONNECTIONS = 16;
/** The minimum share of the plain handler's throughput. */
const MIN_RATIO = 1;

/**
 * The status of a thousand subscribers in turn, each by its own bearer token, compared with a plain handler that makes
 * one Prisma query for the same accounts.
 */
export async function subscriptionStatus(bench: Bench): Promise<Section> {
  const accounts = await addAccounts(bench, SCALE.accounts);
  const preparePeer = async ({ url }: Server): Promise<ApplyLoad> => {
    for (const { id } of accounts.slice(0, 10)) {
      const { purchases } = (await (await fetch(`${url}/${id}`)).json()) as { purchases: unknown[] };
      assert.equal(purchases.length, 1);
    }
    const requests = writeRequests(bench, "read.txt", accounts, ({ id }) => `/${id}`);
    return (seconds) => wrk(url, seconds, { requests });
  };
  const results = await compare([
    homeport(bench, (server) => prepareStatus(bench, server, accounts)),
    peer(bench, NAMES.prisma, "prisma-read.ts", preparePeer, () => ({ DATABASE_URL: bench.env.DATABASE_URL })),
  ]);
  const title = `subscription/status, ${SCALE.accounts.toLocaleString("en-US")} tokens`;
  return { title, rows: byThroughput(results, { [NAMES.prisma]: MIN_RATIO }), results };
}

/** Requests of each account's status in turn, once each has a purchase. */
export async function prepareStatus(bench: Bench, { url }: Server, accounts: SignedIn[]): Promise<ApplyLoad> {
  await subscribe(url, accounts);
  for (const { token } of accounts.slice(0, 10)) {
    const response = await fetch(url + PATH, { headers: { authorization: `Bearer ${token}` } });
    assert.equal(((await response.json()) as { isActive: boolean }).isActive, true);
  }
  const requests = writeRequests(bench, "status.txt", accounts, ({ token }) => `${PATH} ${token}`);
  return (seconds) => wrk(url + PATH, seconds, { requests });
}

/** Delivers a purchase of each account. */
async function subscribe(url: string, accounts: SignedIn[]): Promise<void> {
  const left = [...accounts];
  await runClosedLoop(url, { connections: CONNECTIONS, seconds: 120 }, () => {
    const account = left.pop();
    return account ? newPurchase(account.id).shot : null;
  });
  assert.equal(left.length, 0, "not every purchase was delivered");
}
