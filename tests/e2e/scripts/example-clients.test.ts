import { randomBytes } from "node:crypto";
import { readdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { writeSampleCatalog } from "@/lib/releases/sample/sample-catalog";
import { WEBHOOK_SECRET } from "@/tests/support/context";
import { createMigratedDatabase, postgresUrl } from "@/tests/support/database";
import { runCommand, startCommand } from "@/tests/support/process/command";
import { newDataDir, type Service, startForTest, startService } from "@/tests/support/process/service";

let embedded: Service;

beforeAll(async () => {
  embedded = await startService();
});
afterAll(() => embedded.end("SIGKILL"));

/** Starts `npm run device` against a service. `dataDir` is where it looks for notifications. */
const device = (url: string, dataDir: string) => startCommand("device", [url], { DATA_DIR: dataDir });

test("npm run device registers and verifies a device at a running service", async () => {
  const { code, output } = await device(embedded.url, embedded.dataDir).ended;
  expect([code, output]).toEqual([0, expect.stringContaining('"status": "active"')]);
});

test("npm run device accepts a pasted notification in place of its file", async () => {
  const outbox = path.join(embedded.dataDir, "outbox");
  const before: string[] = await readdir(outbox).catch(() => []);
  const { child, ended } = device(embedded.url, await newDataDir());
  const printed = await vi.waitFor(
    async () => {
      const [name = ""] = (await readdir(outbox)).filter(
        (file) => file.endsWith(".push.json") && !before.includes(file),
      );
      const { payload } = JSON.parse(await readFile(path.join(outbox, name), "utf8"));
      return JSON.stringify(payload);
    },
    { timeout: 50_000, interval: 50 },
  );
  child.stdin?.end(`something else\n${printed}\n`);
  const { code, output } = await ended;
  expect([code, output]).toEqual([0, expect.stringContaining('"status": "active"')]);
});

const SECRET = { BILLING_WEBHOOK_SIGNING_SECRET: WEBHOOK_SECRET };

/** Runs the tour against a service. Resolves to its exit code and its output. */
async function tour({ url }: Service, env: Record<string, string>): Promise<[code: number | null, text: string]> {
  const { code, output } = await runCommand("tour", [url], env);
  return [code, output];
}

/** The tour's lines, but for what every run has of its own: ids, sizes, tags. */
const linesOf = (text: string) =>
  text
    .slice(text.indexOf("1. "))
    .replace(/[0-9a-f-]{36,}|"[^"]*"|\d+/g, "#")
    .trim()
    .split("\n");

test("the tour succeeds on the embedded database and prints what docs/tour.md shows", async () => {
  const [code, text] = await tour(embedded, { ...SECRET, DATA_DIR: embedded.dataDir });
  expect([code, text]).toEqual([0, expect.stringContaining("All responses are as expected.")]);
  const [, shown = ""] = /```text\n([\s\S]*?)```/.exec(await readFile("docs/tour.md", "utf8")) ?? [];
  expect(linesOf(text)).toEqual(linesOf(shown));
});

test("the tour takes what the catalog has once a release of one's own has replaced the samples", async () => {
  const service = await startForTest();
  const file = path.join(await newDataDir(), "editor.AppImage");
  await writeFile(file, randomBytes(100_000));
  const release = ["--product", "editor", "--platform", "linux", "--arch", "arm64", "--version", "0.9.0"];
  const env = { ...SECRET, DATA_DIR: service.dataDir };
  expect(await runCommand("homeport", ["release", "add", file, ...release], env)).toMatchObject({
    code: 0,
    stderr: "",
  });
  const [code, text] = await tour(service, env);
  expect([code, text]).toEqual([0, expect.stringContaining("All responses are as expected.")]);
  expect(text).toContain("editor.AppImage 0.9.0: resumed, SHA-256 matches");
});

test("a tour with another DATA_DIR than the service's prints what to set, and leaves no account", async () => {
  const [code, text] = await tour(embedded, { DATA_DIR: await newDataDir() });
  expect([code, text]).toEqual([1, expect.stringContaining("DATA_DIR here as they are set for the service")]);
  expect(text).not.toContain("{");
  expect(text).toContain("POST /api/auth/account/delete -> 200");
});

test.runIf(postgresUrl)("the tour succeeds on PostgreSQL", async () => {
  const RELEASE_CATALOG = path.join(await newDataDir(), "catalog.json");
  await writeSampleCatalog(RELEASE_CATALOG);
  const env = {
    ...SECRET,
    DATABASE_URL: await createMigratedDatabase(),
    NEXTAUTH_URL: "http://localhost:3000",
    NEXTAUTH_SECRET: "a-secret-for-tests-that-is-long-enough",
    RELEASE_CATALOG,
  };
  const [code, text] = await tour(await startForTest(env), env);
  expect([code, text]).toEqual([0, expect.stringContaining("All responses are as expected.")]);
  expect(text).toContain("push is not configured on this service");
});
