import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { pino } from "pino";
import { expect, onTestFinished, test } from "vitest";
import { freePort } from "@/dev/free-port";
import { createApnsTransport } from "@/lib/platform/adapters/apns";
import { startCommand } from "@/tests/support/process/command";
import { newDataDir } from "@/tests/support/process/service";
import { BUNDLE_ID, newToken } from "@/tests/support/push/push";

const apns = (dataDir: string, port: string) => startCommand("apns", [port], { DATA_DIR: dataDir });

test("npm run apns prints the variables to set and each push, rejects a port in use, and keeps its key for the next start", async () => {
  const dataDir = await newDataDir();
  const port = await freePort();
  const { child, output } = apns(dataDir, String(port));
  await expect.poll(output).toContain("npm start");
  const variables = Object.fromEntries(
    [...output().matchAll(/(APNS_[A-Z_]+)=(\S+)/g)].map(([, name, value]) => [name, value]),
  );
  const read = (name: string) => readFile(variables[name] ?? "", "utf8");
  const key = await read("APNS_KEY");
  const { send, close } = createApnsTransport(
    {
      key,
      keyId: variables.APNS_KEY_ID ?? "",
      teamId: variables.APNS_TEAM_ID ?? "",
      ca: await read("APNS_CA"),
      host: variables.APNS_HOST,
      port: Number(variables.APNS_PORT),
    },
    pino({ level: "silent" }),
  );
  onTestFinished(close);
  const token = newToken();
  const data = { v: 1, kind: "push.challenge", nonce: "a-nonce" };
  const sendOne = () =>
    send({
      id: "0198c0de-0000-7000-8000-000000000000",
      token,
      environment: "sandbox",
      bundleId: BUNDLE_ID,
      pushType: "background",
      priority: 5,
      collapseId: null,
      expiresAt: new Date("2030-01-01T00:00:00Z"),
      body: JSON.stringify({ aps: { "content-available": 1 }, data }),
    });
  expect(await sendOne()).toEqual({ status: 200, reason: null });
  child.stdin?.write("503 2 retry-after=30\n");
  await expect.poll(output).toContain("reply to the next 2 pushes: 503");
  const busy = { status: 503, reason: "ServiceUnavailable", retryAfterSeconds: 30 };
  expect([await sendOne(), await sendOne(), await sendOne()]).toEqual([busy, busy, { status: 200, reason: null }]);
  await expect.poll(output).toMatch(new RegExp(`to ${token}[\\s\\S]*a-nonce`));
  const [file = ""] = await readdir(path.join(dataDir, "outbox"));
  expect(JSON.parse(await readFile(path.join(dataDir, "outbox", file), "utf8"))).toMatchObject({
    token,
    payload: { data },
  });

  const second = await apns(dataDir, String(port)).ended;
  expect([second.code, second.output]).toEqual([1, expect.stringMatching(/^Port \d+ is in use/)]);

  child.kill();
  const again = apns(dataDir, String(await freePort()));
  await expect.poll(again.output).toContain("npm start");
  expect(await read("APNS_KEY")).toBe(key);
});
