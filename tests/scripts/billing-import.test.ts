import { randomUUID } from "node:crypto";
import { access, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeEach, expect, test } from "vitest";
import { importPurchases } from "@/scripts/homeport/import/import-purchases";
import { createOutput } from "@/scripts/homeport/output";
import { createAdminApi } from "@/scripts/homeport/transport/admin-api";
import { clientOf } from "@/scripts/homeport/transport/http-client";
import { newAccount } from "@/tests/support/accounts";
import { call } from "@/tests/support/api";
import { newKey } from "@/tests/support/auth/api-keys";
import { clock } from "@/tests/support/context";
import { DAY_MS } from "@/tests/support/subscriptions/billing";
import { startProvider, withKeys } from "@/tests/support/subscriptions/billing-sources";
import { stripeList, stripeSubscription } from "@/tests/support/subscriptions/provider-objects";
import { send } from "@/tests/support/subscriptions/revenuecat";

const provider = await startProvider();
afterAll(() => provider.close());

let folder: string;
const from = process.cwd();
beforeEach(async () => {
  provider.requests.length = 0;
  folder = await mkdtemp(path.join(tmpdir(), "homeport-import-"));
  process.chdir(folder); // where the command says how far it has come
  return async () => {
    process.chdir(from);
    await rm(folder, { recursive: true });
  };
});

/** Runs the command's work against the routes. */
async function run(options: Partial<Parameters<typeof importPurchases>[1]>) {
  const { key } = await newKey({ scopes: ["billing:write"] });
  const client = clientOf("the service", ({ method, path: to, body, headers }) =>
    call(method, to, { token: key, ...(body !== undefined && { body, headers: headers ?? {} }) }),
  );
  const context = { api: createAdminApi(client), output: { ...createOutput(false), note: () => {} } };
  const given = { from: "stripe", match: "id", dryRun: false, file: undefined, ...options } as const;
  return withKeys(provider.url, () => importPurchases(context, given));
}

const PROGRESS = "billing-import-stripe.progress";

test("an import that was stopped goes on after its last page, and its sums have all pages", async () => {
  const ann = await newAccount();
  const list = [stripeSubscription(ann.id), stripeSubscription(null), stripeSubscription(null)];
  const pages = stripeList(list, 1);
  provider.respond((url, response) =>
    url.searchParams.get("starting_after") === list[1]?.id ? send(response, 401, {}) : pages(url),
  );
  await expect(run({})).rejects.toMatchObject({ code: "billing_api_failed" });
  provider.respond(pages);
  await writeFile(PROGRESS, '{"position":{"line', { flag: "a" }); // it was stopped as it wrote
  provider.requests.length = 0;
  const { counts, listed } = await run({});
  expect(provider.requests.map(({ url }) => url.searchParams.get("starting_after"))).toEqual([list[1]?.id]);
  expect(counts).toMatchObject({ matched: 1, unmatched: 2, created: 3, failed: 0 });
  expect(listed.map(({ id }) => id)).toEqual([list[1]?.id, list[2]?.id]);
  await expect(access(PROGRESS)).rejects.toMatchObject({ code: "ENOENT" });
  expect((await run({ dryRun: true })).counts).toMatchObject({ matched: 1, unmatched: 2, unchanged: 3, created: 0 });
});

test("a list whose pages go round ends with an error", async () => {
  const [one, two] = [stripeSubscription(null), stripeSubscription(null)];
  provider.respond((url) => ({
    data: [url.searchParams.get("starting_after") === one.id ? two : one],
    has_more: true,
  }));
  await expect(run({})).rejects.toMatchObject({ message: expect.stringContaining("a page repeats") });
  expect(provider.requests.length).toBeLessThan(5);
});

test("a provider that limits requests is asked again, and one that goes on doing so ends the command", async () => {
  let limits = 2;
  const list = stripeList([stripeSubscription(null)]);
  provider.respond((url, response) => {
    limits -= 1;
    return limits >= 0 ? send(response, 429, {}, { "retry-after": "0" }) : list(url);
  });
  expect((await run({})).counts).toMatchObject({ created: 1 });
  limits = 100;
  await expect(run({})).rejects.toMatchObject({ code: "billing_api_failed" });
});

test("a table's rows are imported, and those that are none are named by their line", async () => {
  const ann = await newAccount();
  const file = path.join(folder, "purchases.csv");
  const at = (days: number) => new Date(clock.now().getTime() + days * DAY_MS).toISOString();
  const rows = [
    "transactionId,store,customer,productId,entitlementIds,purchasedAt,expiresAt,willRenew",
    `${randomUUID()},ROKU,${ann.id},monthly,"pro;storage",${at(-1)},${at(29)},no`,
    `${randomUUID()},ROKU,${ann.id},monthly,pro,yesterday,,`,
    "",
    `${randomUUID()},ROKU,nobody,coins,,${at(-1).slice(0, 19).replace("T", " ")},,`,
  ];
  await writeFile(file, rows.join("\n"));
  const { counts, listed } = await run({ from: "csv", file });
  expect(counts).toMatchObject({ matched: 1, unmatched: 1, created: 2, failed: 1 });
  expect(listed.map(({ line, status, customer }) => [line, status, customer])).toEqual([
    [3, "failed", null],
    [5, "created", "nobody"],
  ]);
  await writeFile(file, "email,plan\nann@example.com,pro\n");
  await expect(run({ from: "csv", file })).rejects.toThrow(/line 1: expected a heading with transactionId/);
});
