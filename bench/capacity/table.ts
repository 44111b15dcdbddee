import { digits } from "../report/markdown";
import type { Published } from "../report/published";
import { ASSUMPTIONS, type Assumptions } from "./assumptions";
import { readCosts } from "./costs";
import { needsOf } from "./model";

export const CLIENTS = [1_000, 100_000, 10_000_000, 1_000_000_000];
/** The locations of a CDN, each with its own copy of each of the service's feeds for `max-age`. */
const CDN = { locations: 100, feeds: 12, maxAgeSeconds: 60 };

const ROWS: { label: string; value: (needs: ReturnType<typeof needsOf>) => string }[] = [
  { label: "update checks a second", value: ({ demand }) => digits(demand.updateCheck) },
  { label: "subscription status requests a second", value: ({ demand }) => digits(demand.status) },
  { label: "registrations of devices a second", value: ({ demand }) => digits(demand.launch + demand.newDevice) },
  { label: "sign-ins and new accounts a second", value: ({ demand }) => digits(demand.signIn + demand.registration) },
  { label: "billing events a second", value: ({ demand }) => digits(demand.billingEvent) },
  { label: "notifications a second, during an announcement", value: ({ demand }) => digits(demand.notification) },
  { label: "busy cores of Homeport", value: ({ serverCores }) => digits(serverCores) },
  { label: "of these, without update checks", value: ({ serverCoresBehindCdn }) => digits(serverCoresBehindCdn) },
  { label: "busy cores of PostgreSQL", value: ({ databaseCores }) => digits(databaseCores) },
  { label: "**instances**", value: ({ instances }) => digits(instances) },
  { label: "**instances behind a CDN**", value: ({ instancesBehindCdn }) => digits(instancesBehindCdn) },
  { label: "**PostgreSQL servers that take writes**", value: ({ databases }) => digits(databases) },
  { label: "database after the planned years, GB", value: ({ databaseGb }) => digits(databaseGb) },
  { label: "write-ahead log, MB a second", value: ({ walMbPerSecond }) => digits(walMbPerSecond) },
  { label: "responses to update checks, GB a month", value: ({ checksGbAMonth }) => digits(checksGbAMonth) },
  { label: "downloads of updates, TB a month", value: ({ updatesTbAMonth }) => digits(updatesTbAMonth) },
];

/** The needs of several numbers of clients, and the CDN's hit rate, as a Markdown table; empty without published costs. */
export function capacityTable(published: Published, clients = CLIENTS, assumptions: Assumptions = ASSUMPTIONS): string {
  const costs = readCosts(published);
  if (!costs) return "";
  const needs = clients.map((count) => needsOf(count, costs, assumptions));
  const hits = needs.map(({ demand }) => hitRate(demand.updateCheck));
  const lines = [
    ["installed clients", ...clients.map((count) => count.toLocaleString("en-US"))],
    ["---", ...clients.map(() => "---:")],
    ...ROWS.map(({ label, value }) => [label, ...needs.map(value)]),
    ["update checks that a CDN serves", ...hits.map((share) => `${digits(share * 100)}%`)],
  ];
  return lines.map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

/**
 * The share of requests that the CDN answers by itself, if they arrive at random (a Poisson process): the request that
 * fetches a copy (RFC 9111, section 4.2) is followed by as many as arrive within `max-age`.
 */
function hitRate(perSecond: number): number {
  const perCopy = (perSecond / (CDN.locations * CDN.feeds)) * CDN.maxAgeSeconds;
  return perCopy / (1 + perCopy);
}

export function assumptionsTable(assumptions: Assumptions): string {
  const rows = Object.values(assumptions).map(({ value, text }) => `| ${text} | ${value} |`);
  return ["| assumption | value |", "| --- | ---: |", ...rows].join("\n");
}
