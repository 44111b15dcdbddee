import { spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:https";
import { tmpdir } from "node:os";
import path from "node:path";
import { text } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
import { newCertificate } from "@/dev/apns/credentials";
import { SECRET } from "@/tests/support/context";
import { listenForTest } from "@/tests/support/network/listen";
import { startBrowser } from "@/tests/support/push/browser";

/** Sends a message to each endpoint, and prints the statuses, or why there was none. */
const SENDER = `
  import webPush from "web-push";
  import { createWebPush } from "./lib/platform/adapters/create-adapters.ts";
  import { loadConfig } from "./lib/platform/config.ts";
  const { keys, endpoints } = JSON.parse(process.env.MESSAGES);
  const vapidKeys = webPush.generateVAPIDKeys();
  const { send } = createWebPush(loadConfig(), async () => vapidKeys);
  const message = { keys, payload: "{}", ttlSeconds: 60, urgency: "normal", topic: null };
  const sent = endpoints.map((endpoint) => send({ ...message, endpoint }).then(({ status }) => status, (error) => error.message));
  console.log(JSON.stringify(await Promise.all(sent)));
`;

test("WEB_PUSH_CA is trusted besides NODE_EXTRA_CA_CERTS, and nobody else is", async () => {
  const folder = await mkdtemp(path.join(tmpdir(), "trust-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const [own, extra, stranger] = [newCertificate(), newCertificate(), newCertificate()];
  await writeFile(path.join(folder, "extra.pem"), extra.cert);
  const endpoints = await Promise.all([own, extra, stranger].map(startPushService));
  const { subscription } = await startBrowser();
  const child = spawn(process.execPath, ["--import", "tsx", "--input-type=module", "--eval", SENDER], {
    env: {
      ...process.env,
      NODE_EXTRA_CA_CERTS: path.join(folder, "extra.pem"),
      NEXTAUTH_SECRET: SECRET,
      WEB_PUSH_CA: own.cert,
      WEB_PUSH_ALLOWED_NETWORKS: "127.0.0.1/32",
      MESSAGES: JSON.stringify({ keys: subscription.keys, endpoints }),
    },
  });
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  expect(stderr).toBe("");
  expect(JSON.parse(stdout)).toEqual([201, 201, expect.stringContaining("self-signed certificate")]);
});

async function startPushService(tls: { key: string; cert: string }): Promise<string> {
  const server = createServer(tls, (_, response) => response.writeHead(201).end());
  return `https://${await listenForTest(server)}/message`;
}
