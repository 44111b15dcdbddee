import { execFile } from "node:child_process";
import { createHash, randomUUID } from "node:crypto";
import { once } from "node:events";
import { copyFile, rm } from "node:fs/promises";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { type ConnectionOptions, connect } from "node:tls";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { WEBHOOK_SECRET } from "@/tests/support/context";
import { newClient } from "@/tests/support/network/https-client";
import { Machine } from "@/tests/support/process/machine";
import { newDataDir } from "@/tests/support/process/service";
import { hasCommands } from "@/tests/support/requirements";
import { billingEvent, deliveryOf, type Sent, WEBHOOK } from "@/tests/support/subscriptions/billing";

const JSON_TYPE = { "content-type": "application/json" };
/** Between two events of a writer. */
const PAUSE_MS = 50;

/** The guide's commands are for Linux, and need what a server there has. */
const isServer = process.platform === "linux" && hasCommands("bash", "curl", "tar", "openssl");

describe.runIf(isServer)("a machine that is set up as in the guide", () => {
  let machine: Machine;

  beforeAll(async () => {
    machine = await Machine.start();
    await machine.run("Install from a checkout", 0);
    await machine.configure("Install from a checkout", {
      SMTP_URL: "",
      BCRYPT_COST: "10",
      BILLING_WEBHOOK_SIGNING_SECRET: WEBHOOK_SECRET,
    });
    expect(await machine.run("Install from a checkout", 1)).toContain('"status":"ok"');
  });
  afterAll(() => machine.remove());

  test("runs operators' commands", async () => {
    // The embedded database belongs to the service; the catalog is a file.
    expect(await machine.run("Install from a checkout", 2)).toMatch(/core +windows/);
  });

  for (const [n, kind] of (["nginx", "caddy"] as const).entries()) {
    describe.runIf(hasCommands(kind))(`behind ${kind}`, () => {
      /** Limits count by address: each test, with each proxy, is somebody else. */
      const address = (host: number) => `127.0.${n + 1}.${host}`;
      let port: number;

      beforeAll(async () => {
        await machine.run("Set up a reverse proxy", n);
        const end = await machine.startProxy(kind);
        port = machine.ports.https;
        return end;
      });

      const clientAt = (host: number) => {
        const client = newClient(port, address(host));
        onTestFinished(client.close);
        return client;
      };

      // ASVS 4.1.3, 15.3.4
      test("clients are distinguished by their IP address, whatever headers they send", async () => {
        const guess = (client: ReturnType<typeof newClient>, forwarded: string) =>
          client.ask("/api/auth/reset/confirm", {
            method: "POST",
            headers: { ...JSON_TYPE, "x-forwarded-for": forwarded },
            body: JSON.stringify({ token: randomUUID(), password: "a good long password" }),
          });
        const [hostile, honest] = [clientAt(1), clientAt(2)];
        for (let n = 1; n <= 10; n++) expect((await guess(hostile, `203.0.113.${n}`)).status).toBe(400);
        expect((await guess(hostile, "203.0.113.99")).status).toBe(429);
        expect((await guess(honest, address(1))).status).toBe(400);
      });

      // ASVS 4.1.2, 12.2.1
      test("over http, pages and downloads are redirected to https, and a token that is sent unencrypted is refused", async () => {
        const ask = (path: string) => fetch(`http://localhost:${machine.ports.http}${path}`, { redirect: "manual" });
        for (const path of ["/sign-in", "/api/download/windows"]) {
          const { status, headers } = await ask(path);
          expect([path, status, headers.get("location")?.startsWith("https://")]).toEqual([path, 308, true]);
        }
        expect((await ask("/api/push/devices")).status).toBe(403);
      });

      // ASVS 12.1.1, 12.1.2
      test("only TLS 1.2 and 1.3, and ciphers with forward secrecy, are accepted", async () => {
        const accepts = async (options: ConnectionOptions) => {
          const socket = connect({
            port,
            host: "127.0.0.1",
            servername: "localhost",
            rejectUnauthorized: false,
            ...options,
          });
          const isOpen = await once(socket, "secureConnect").then(
            () => true,
            () => false,
          );
          socket.destroy();
          return isOpen;
        };
        expect(await accepts({ minVersion: "TLSv1.3" })).toBe(true);
        expect(await accepts({ maxVersion: "TLSv1.2" })).toBe(true);
        expect(await accepts({ maxVersion: "TLSv1.2", ciphers: "AES128-GCM-SHA256:AES256-SHA" })).toBe(false);
        const old = { minVersion: "TLSv1", maxVersion: "TLSv1.1", ciphers: "DEFAULT@SECLEVEL=0" } as const;
        expect(await accepts(old)).toBe(false);
      });

      // ASVS 4.2.2
      test("installers arrive whole and in ranges, and are not sent to clients that have them", async () => {
        const client = clientAt(3);
        const whole = await client.ask("/api/download/windows");
        expect(whole.headers["content-length"]).toBe(String(whole.body.length));
        const digest = createHash("sha512").update(whole.body).digest("base64");
        expect(whole.headers["repr-digest"]).toBe(`sha-512=:${digest}:`);
        const part = await client.ask("/api/download/windows", { headers: { range: "bytes=2-9" } });
        expect([part.status, part.headers["content-range"]]).toEqual([206, `bytes 2-9/${whole.body.length}`]);
        expect(part.body).toEqual(whole.body.subarray(2, 10));
        // As many as electron-updater sends in one header.
        const ranges = Array.from({ length: 500 }, (_, i) => (i === 0 ? "2-9" : `${1e9 + i}-${1e9 + i}`)).join(", ");
        const parts = await client.ask("/api/download/windows", { headers: { range: `bytes=${ranges}` } });
        expect([parts.status, parts.headers["content-range"]]).toEqual([206, `bytes 2-9/${whole.body.length}`]);
        const known = await client.ask("/api/download/windows", {
          headers: { "if-none-match": whole.headers.etag ?? "" },
        });
        expect([known.status, known.body.length]).toEqual([304, 0]);
        const head = await client.ask("/api/download/windows", { method: "HEAD" });
        expect([head.status, head.headers["content-length"]]).toEqual([200, String(whole.body.length)]);
        expect(client.connections()).toBe(1);
      });

      test("a body of the maximum size is accepted, and a larger one is rejected", async () => {
        const client = clientAt(4);
        const event = billingEvent("TEST", { padding: "x".repeat(255 * 1024) });
        expect((await client.ask(WEBHOOK, deliveryOf(event))).status).toBe(200);
        const larger = await client.ask(WEBHOOK, deliveryOf({ ...event, padding: "x".repeat(900 * 1024) }));
        expect([larger.status, larger.json().code]).toEqual([413, "payload_too_large"]);
        const huge = await client.ask(WEBHOOK, deliveryOf({ ...event, padding: "x".repeat(2 * 1024 * 1024) }));
        // Debian's Caddy responds with 502 if it is still sending the body when the service has closed the connection.
        expect(kind === "nginx" ? [413] : [413, 502]).toContain(huge.status);
      });
    });
  }

  test("is backed up while it runs, and restored from its archive with every acknowledged write", async () => {
    const url = `http://127.0.0.1:${machine.ports.first}`;
    const post = (path: string, json: unknown) =>
      fetch(`${url}${path}`, { method: "POST", headers: JSON_TYPE, body: JSON.stringify(json) });
    const ann = { email: `${randomUUID()}@example.com`, password: "a good long password" };
    const { token } = (await (await post("/api/auth/register", ann)).json()) as { token: string };

    const acknowledged: Sent[] = [];
    let isBackedUp = false;
    const writers = Array.from({ length: 4 }, async () => {
      while (!isBackedUp) {
        const event = billingEvent("INITIAL_PURCHASE");
        expect((await fetch(`${url}${WEBHOOK}`, deliveryOf(event))).status).toBe(200);
        acknowledged.push(event);
        await delay(PAUSE_MS);
      }
    });
    await expect.poll(() => acknowledged.length).toBeGreaterThan(20);
    const before = [...acknowledged];
    await machine.run("Copy the folder of the embedded database", 0);
    isBackedUp = true;
    await Promise.all(writers);

    await rm(machine.path("var/lib/homeport/db"), { recursive: true });
    expect(await machine.run("Copy the folder of the embedded database", 1)).toContain('"status":"ok"');
    const status = await fetch(`${url}/api/subscription/status`, { headers: { authorization: `Bearer ${token}` } });
    expect(status.status).toBe(200);
    expect((await post("/api/auth/login", ann)).status).toBe(200);
    for (const event of before) {
      expect(await (await fetch(`${url}${WEBHOOK}`, deliveryOf(event))).json()).toMatchObject({ status: "duplicate" });
    }
  });
});

describe.runIf(hasCommands("systemd-analyze"))("the units", () => {
  test.each(["homeport@.service", "homeport-worker.service"])(
    // ASVS 13.2.2, 15.2.5
    "%s is valid, and sandboxed as systemd-analyze requires",
    async (name) => {
      const folder = await newDataDir();
      const file = path.join(folder, name.replace("@.", "@3001."));
      await copyFile(`deploy/${name}`, file);
      const run = (...args: string[]) => promisify(execFile)("systemd-analyze", [...args, file]);
      const faults = (await run("verify", "--man=no")).stderr
        .split("\n")
        .filter((line) => !/Unknown key (name )?'Restart/.test(line));
      expect(faults.join("\n")).not.toContain(path.basename(file)); // Debian 12's systemd has no growing delays
      await run("security", "--offline=true", "--threshold=20");
    },
  );
});
