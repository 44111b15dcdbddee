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

test("npm run device reports a service that it cannot reach", async () => {
  const { code, output } = await device("http://127.0.0.1:1", await newDataDir()).ended;
  expect([code, output]).toEqual([1, expect.stringContaining("Cannot reach")]);
});

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
  ["Windows", "windows", "x64", "setup.exe"],
  ["Linux", "linux", "arm64", "editor.AppImage"],
])(
  "the tour takes what the catalog has once a release for %s has replaced the samples",
  async (_, platform, arch, name) => {
    const service = await startForTest();
    const file = path.join(await newDataDir(), name);
    await writeFile(file, randomBytes(100_000));
    const release = ["--product", "editor", "--platform", platform, "--arch", arch, "--version", "0.9.0"];
    const added = await runCommand("homeport", ["release", "add", file, ...release], { DATA_DIR: service.dataDir });
    expect([added.code, added.stderr]).toEqual([0, ""]);
    const [code, text] = await tour(service);
    expect([code, text]).toEqual([0, expect.stringContaining("All responses are as expected.")]);
    expect(text).toContain(`${name} 0.9.0: resumed, SHA-256 matches`);
  },
);

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
