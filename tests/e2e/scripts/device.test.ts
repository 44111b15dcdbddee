import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { startCommand } from "@/tests/support/process/command";
import { newDataDir, type Service, startService } from "@/tests/support/process/service";

/** Starts `npm run device` against a service. `dataDir` is where it looks for notifications. */
const device = (url: string, dataDir: string) => startCommand("device", [url], { DATA_DIR: dataDir });

let service: Service;

beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.end("SIGKILL"));

test("npm run device registers and verifies a device at a running service", async () => {
  const { code, output } = await device(service.url, service.dataDir).ended;
  expect([code, output]).toEqual([0, expect.stringContaining('"status": "active"')]);
});

test("npm run device accepts a pasted notification in place of its file", async () => {
  const outbox = path.join(service.dataDir, "outbox");
  const before: string[] = await readdir(outbox).catch(() => []);
  const { child, ended } = device(service.url, await newDataDir());
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
