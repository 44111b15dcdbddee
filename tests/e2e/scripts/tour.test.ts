import { readFile } from "node:fs/promises";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { writeSampleCatalog } from "@/lib/releases/sample/sample-catalog";
import { WEBHOOK_SECRET } from "@/tests/support/context";
import { createMigratedDatabase, postgresUrl } from "@/tests/support/database";
import { runCommand } from "@/tests/support/process/command";
import { newDataDir, type Service, startForTest, startService } from "@/tests/support/process/service";

let embedded: Service;

beforeAll(async () => {
  embedded = await startService();
});
afterAll(() => embedded.end("SIGKILL"));

/** Runs the tour against a service, with the service's own variables. */
const tour = ({ url, dataDir }: Service, env: Record<string, string> = {}) =>
  runTour(url, { BILLING_WEBHOOK_SIGNING_SECRET: WEBHOOK_SECRET, DATA_DIR: dataDir, ...env });

/** Runs `npm run tour -- URL`. Resolves to its exit code and its output. */
async function runTour(url: string, env: Record<string, string>): Promise<[code: number | null, text: string]> {
  const { code, output } = await runCommand("tour", [url], env);
  return [code, output];
}

/** The tour's lines, but for what every run has of its own: ids, sizes, tags. */
const linesOf = (text: string) =>
  text
    .slice(text.indexOf("1. "))
    .replace(/[0-9a-f-]{36}|"[^"]*"|\d+/g, "#")
    .trim()
    .split("\n");

test("the tour succeeds on the embedded database and prints what docs/tour.md shows", async () => {
  const [code, text] = await tour(embedded);
  expect([code, text]).toEqual([0, expect.stringContaining("All responses are as expected.")]);
  const [, shown = ""] = /```text\n([\s\S]*?)```/.exec(await readFile("docs/tour.md", "utf8")) ?? [];
  expect(linesOf(text)).toEqual(linesOf(shown));
});

test.each([
  ["another DATA_DIR", {}],
  ["another secret", { BILLING_WEBHOOK_SIGNING_SECRET: "another-secret" }],
])("a tour with %s than the service's prints what to set, and leaves no account", async (_, env) => {
  const [code, text] = await runTour(embedded.url, { DATA_DIR: await newDataDir(), ...env });
  expect([code, text]).toEqual([1, expect.stringContaining("DATA_DIR here as they are set for the service")]);
  expect(text).not.toContain("{");
  expect(text).toContain("POST /api/auth/account/delete -> 200");
});

test.runIf(postgresUrl)("the tour succeeds on PostgreSQL", async () => {
  const url = await createMigratedDatabase();
  const catalog = path.join(await newDataDir(), "catalog.json");
  await writeSampleCatalog(catalog);
  const env = {
    DATABASE_URL: url,
    NEXTAUTH_URL: "http://localhost:3000",
    NEXTAUTH_SECRET: "a-secret-for-tests-that-is-long-enough",
    RELEASE_CATALOG: catalog,
  };
  const [code, text] = await tour(await startForTest(env), env);
  expect([code, text]).toEqual([0, expect.stringContaining("All responses are as expected.")]);
  expect(text).toContain("push is not configured on this service");
});
