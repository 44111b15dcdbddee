import assert from "node:assert/strict";
import { PrismaClient } from "../../../lib/platform/db/generated/client";
import { postgresAdapter } from "../../../lib/platform/db/server/adapter";
import { COMMAND_LIMITS } from "../../../lib/platform/db/time-limits";
import { search } from "../../../lib/search/search";
import { listBillingEvents } from "../../../lib/subscriptions/admin/list-events";
import { addBillingHistory, EVENTS_PER_PURCHASE, renewalOf, tokenOf } from "../../fixtures/growth/billing-history";
import { uuidText } from "../../fixtures/growth/bulk-load";
import type { Bench } from "../../lib/bench";
import { homeport } from "../../lib/candidates";
import { type RequestSpec, runClosedLoop } from "../../lib/load";
import type { Latency } from "../../lib/table";
import type { Growth } from "./growing-tables";
import { callInTurn, latencyOf, ROUND } from "./latency";

/** Accounts whose purchases are renewed and whose status is read in turn, spread over all. */
const ACCOUNTS = 1_000;
const LISTED = 50;
/** An id that nothing has. */
const NOTHING = "GPA.3345-1234-5678-90123";

/** The billing inbox, with a tenth as many accounts, sessions and purchases as events. */
export function billingGrowth(bench: Bench): Growth {
  return {
    curves: [
      { name: "webhook", title: "Webhook: a renewal", rows: "events" },
      { name: "status", title: "Subscription status", rows: "events" },
      { name: "search", title: "Search by each kind of id, in turn", rows: "events" },
      { name: "list", title: `billing list: the newest ${LISTED} events`, rows: "events" },
    ],
    grow: (from, to) => addBillingHistory(bench.database, from, to),
    measure: async (size, plot) => {
      const server = await homeport(bench, () => Promise.reject()).start();
      try {
        const subscribers = size / EVENTS_PER_PURCHASE;
        const ids = Array.from({ length: ACCOUNTS }, (_, i) => 1 + Math.floor((i * subscribers) / ACCOUNTS));
        const read = await statusRequests(bench, server.url, ids);
        await plot("status", () => latencyOf(oneAtATime(server.url, read)));
        const renew = (i: number) => renewalOf(ids[i % ids.length] ?? 1);
        await plot("webhook", () => latencyOf(oneAtATime(server.url, renew)));
        await plot("list", () => listLatency(bench));
        await plot("search", () => searchLatency(bench, ids));
      } finally {
        await server.stop();
      }
    },
  };
}

/** Sends the requests that `request` returns for 0, 1, 2 and so on. */
function oneAtATime(url: string, request: (i: number) => RequestSpec) {
  return () => {
    let sent = 0;
    return runClosedLoop(url, { connections: 1, seconds: ROUND.seconds }, () =>
      sent < ROUND.calls ? request(sent++) : null,
    );
  };
}

async function statusRequests(bench: Bench, url: string, ids: number[]): Promise<(i: number) => RequestSpec> {
  const tokens = await Promise.all(ids.map((id) => tokenOf(bench, id)));
  const request = (i: number): RequestSpec => {
    const headers = { authorization: `Bearer ${tokens[i % tokens.length]}` };
    return { method: "GET", path: "/api/subscription/status", headers, expectedStatus: 200 };
  };
  const { path, headers } = request(0);
  const status = (await (await fetch(url + path, { headers })).json()) as { isActive: boolean };
  assert.equal(status.isActive, true);
  return request;
}

/** What `homeport billing list` reads. */
const listLatency = (bench: Bench) =>
  latencyOn(bench, async (db) =>
    assert.equal((await listBillingEvents({ db }, { limit: LISTED })).events.length, LISTED),
  );

/** What the search of the console reads, for each kind of id of some accounts, and for one that nothing has. */
function searchLatency(bench: Bench, ids: number[]): Promise<Latency> {
  const billing = { revenuecat: null, stripe: null, paddle: null, appStore: null };
  const deps = { billing, catalog: { current: () => null }, now: () => new Date() };
  const kindsOf = (id: number) => [
    uuidText(id),
    `${id}@example.com`,
    `${id}@`,
    `purchase-${id}`,
    `transaction-${id}-1`,
    `event-${id}-1`,
  ];
  const queries = ids.flatMap((id) => [...kindsOf(id), NOTHING]);
  let asked = 0;
  return latencyOn(bench, async (db) => {
    const query = queries[asked++ % queries.length] ?? NOTHING;
    assert.equal((await search({ ...deps, db }, "admin", query)).results.length > 0, query !== NOTHING, query);
  });
}

async function latencyOn({ env }: Bench, call: (db: PrismaClient) => Promise<void>): Promise<Latency> {
  const db = new PrismaClient({ adapter: postgresAdapter(env.DATABASE_URL, 4, console.error, COMMAND_LIMITS) });
  try {
    return await latencyOf(() => callInTurn(() => call(db)));
  } finally {
    await db.$disconnect();
  }
}
