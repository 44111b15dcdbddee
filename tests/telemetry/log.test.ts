import { Writable } from "node:stream";
import { pino } from "pino";
import { expect, onTestFinished, test } from "vitest";
import { logConsole } from "@/lib/platform/telemetry/log";

// ASVS 16.4.1
test("output of libraries and Node's warnings are log lines", async () => {
  const lines: Record<string, unknown>[] = [];
  const log = pino(
    { base: null, timestamp: false },
    new Writable({
      write: (line, _encoding, done) => {
        lines.push(JSON.parse(String(line)));
        done();
      },
    }),
  );
  const usual = { ...console };
  const listeners = process.listeners("warning");
  onTestFinished(() => {
    Object.assign(console, usual);
    process.removeAllListeners("warning");
    for (const listener of listeners) process.on("warning", listener);
  });
  logConsole(log);
  // biome-ignore-start lint/suspicious/noConsole: as libraries do
  console.error(new Error("aborted"), { code: "ECONNRESET" });
  console.log("\u001b[32m✓\u001b[0m took %dms\n", 5);
  // biome-ignore-end lint/suspicious/noConsole: as libraries do
  process.emitWarning("two lines\nof text");
  await expect.poll(() => lines.length).toBe(3);
  expect(lines).toMatchObject([
    { level: 50, msg: "aborted { code: 'ECONNRESET' }", err: { type: "Error", stack: expect.any(String) } },
    { level: 30, msg: "✓ took 5ms" },
    { level: 40, msg: "two lines\nof text", err: { stack: expect.any(String) } },
  ]);
});
