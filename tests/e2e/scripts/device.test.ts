import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { newDataDir, startForTest } from "@/tests/support/process/service";

/** Starts `npm run device` against a service. `dataDir` is where it looks for notifications. */
function device(url: string, dataDir: string) {
  const child = spawn(process.execPath, ["--import", "tsx", "scripts/device.ts", url], {
    env: { PATH: "", NODE_ENV: "test", DATA_DIR: dataDir },
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  let text = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (chunk) => {
      text += chunk;
    });
  }
  return { child, ended: once(child, "exit"), output: () => text };
}

test("npm run device registers and verifies a device at a running service", async () => {
  const service = await startForTest();
  const { ended, output } = device(service.url, service.dataDir);
  const [code] = await ended;
  expect([code, output()]).toEqual([0, expect.stringContaining('"status": "active"')]);
});

test("npm run device accepts a pasted notification in place of its file", async () => {
  const service = await startForTest();
  const { child, ended, output } = device(service.url, await newDataDir());
  const outbox = path.join(service.dataDir, "outbox");
  const printed = await vi.waitFor(
    async () => {
      const [name = ""] = (await readdir(outbox)).filter((file) => file.endsWith(".push.json"));
      const { payload } = JSON.parse(await readFile(path.join(outbox, name), "utf8"));
      return JSON.stringify(payload);
    },
    { timeout: 50_000, interval: 50 },
  );
  child.stdin.end(`something else\n${printed}\n`);
  const [code] = await ended;
  expect([code, output()]).toEqual([0, expect.stringContaining('"status": "active"')]);
});

test("npm run device reports a service that it cannot reach", async () => {
  const { ended, output } = device("http://127.0.0.1:1", await newDataDir());
  const [code] = await ended;
  expect([code, output()]).toEqual([1, expect.stringContaining("Cannot reach")]);
});
