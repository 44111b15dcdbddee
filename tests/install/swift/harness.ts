import { once } from "node:events";
import { readdir, readFile } from "node:fs/promises";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { Secret, TOTP } from "otpauth";
import { bearer, type Service } from "@/tests/support/process/service";
import { cookiesOf } from "@/tests/support/web/forms";

type Answer = { status: number; headers: Record<string, string>; body: string };
type Fields = Record<string, string>;

const POLL_MS = 50;

/** What HomeportKit's tests ask for: a browser, an authenticator app, APNs, and a server that responds as they say. */
export async function startHarness(service: Service): Promise<{ url: string; close: () => void }> {
  const scripts = new Map<string, { answers: Answer[]; count: number }>();
  const tasks: Record<string, (fields: Fields) => Promise<object>> = {
    browser: (fields) => browse(service, fields),
    factor: (fields) => addFactor(service, fields),
    challenge: ({ id = "" }) => findChallenge(path.join(service.dataDir, "outbox"), id),
  };

  async function answerTo(request: IncomingMessage): Promise<Answer> {
    const [, kind = "", id = "", ...rest] = (request.url ?? "").split("/");
    if (kind !== "script")
      return json(kind === "count" ? { count: scripts.get(id)?.count } : await tasks[kind]?.(await bodyOf(request)));
    if (rest.length === 0) {
      scripts.set(id, { answers: await bodyOf(request), count: 0 });
      return json({});
    }
    const script = scripts.get(id);
    if (script) script.count++;
    return script?.answers.shift() ?? { status: 500, headers: {}, body: "{}" };
  }

  const server = createServer((request, response) => {
    answerTo(request).then(
      ({ status, headers, body }) => {
        if (status === 0)
          request.socket.end("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{"); // cut off
        else response.writeHead(status, { "content-type": "application/json", ...headers }).end(body);
      },
      (error) => response.writeHead(500).end(String(error)),
    );
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

const json = (value: object | undefined): Answer => ({ status: 200, headers: {}, body: JSON.stringify(value) });

async function bodyOf<Value>(request: IncomingMessage): Promise<Value> {
  const chunks = await request.toArray();
  return JSON.parse(Buffer.concat(chunks).toString());
}

/** Signs in on the pages of the service, and allows or denies the app there. Resolves to where the browser is sent. */
async function browse(service: Service, { url = "", email = "", password = "", decision = "" }: Fields) {
  const submit = (form: string, fields: Fields, cookie = "") =>
    service.fetch(`/forms/${form}`, {
      method: "POST",
      body: new URLSearchParams(fields),
      headers: { origin: service.url, cookie },
      redirect: "manual",
    });
  const cookie = cookiesOf(await submit("sign-in", { email, password }));
  const asked = await fetch(url, { headers: { cookie }, redirect: "manual" });
  const page = new URL(asked.headers.get("location") ?? "", service.url);
  const decided = await submit("authorize", { ...Object.fromEntries(page.searchParams), decision }, cookie);
  const [, refreshTo] = /^0;url=(.*)$/.exec(decided.headers.get("refresh") ?? "") ?? [];
  return { url: refreshTo ?? decided.headers.get("location") };
}

/** Adds an authenticator app to the account of a session. */
async function addFactor(service: Service, { token = "" }: Fields) {
  const started = await service.post("/api/auth/factors/totp", {}, bearer(token));
  const { id, secret } = (await started.json()) as { id: string; secret: string };
  const code = new TOTP({ secret: Secret.fromBase32(secret) }).generate();
  const confirmed = await service.post("/api/auth/factors/totp/confirm", { id, code }, bearer(token));
  const { recoveryCodes } = (await confirmed.json()) as { recoveryCodes: string[] };
  return { recoveryCode: recoveryCodes[0] };
}

/** The data of a challenge's notification, which the service writes to a file while it has no key of APNs. */
async function findChallenge(outbox: string, id: string): Promise<Fields> {
  for (;;) {
    const names = await readdir(outbox).catch(() => []);
    for (const name of names.filter((file) => file.endsWith(".push.json"))) {
      const text = await readFile(path.join(outbox, name), "utf8");
      if (text.includes(id) && text.trimEnd().endsWith("}")) return JSON.parse(text).payload.data;
    }
    await delay(POLL_MS);
  }
}
