import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { mailbox } from "@/tests/support/mailbox";
import { anyDatabase, registerAt, startForTest } from "@/tests/support/process/service";
import { withStoppedDatabase } from "@/tests/support/process/stopped-database";

test("an email that a kill left unsent is sent after the next start", async () => {
  const sockets: Socket[] = [];
  const hung = createServer((socket) => void sockets.push(socket.on("error", () => {}))).listen(0, "127.0.0.1");
  await once(hung, "listening");
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    hung.close();
  });
  const database = await anyDatabase();
  const hungUrl = `smtp://127.0.0.1:${(hung.address() as AddressInfo).port}`;
  const first = await startForTest({ ...database, SMTP_URL: hungUrl });
  const { email } = await registerAt(first);
  expect((await first.post("/api/auth/reset/request", { email })).status).toBe(202);
  await expect.poll(() => sockets.length).toBe(1);
  await first.end("SIGKILL");

  const env = { ...database, DATA_DIR: first.dataDir };
  // Ends the lease of two minutes that the killed process had.
  const data = { nextAttemptAt: new Date() };
  expect(await withStoppedDatabase(env, (db) => db.queuedEmail.updateMany({ data }))).toEqual({ count: 1 });
  await startForTest({ ...env, SMTP_URL: await mailbox.start() });
  expect(await mailbox.waitFor(email)).toContain("/reset#token=");
  expect(mailbox.to(email)).toHaveLength(1);
});
