import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { connect, createServer, type Socket } from "node:net";
import { SMTPServer } from "smtp-server";
import { expect, test } from "vitest";
import { freePort } from "@/dev/free-port";
import { parseResponse } from "@/tests/support/network/http-server";
import { listen } from "@/tests/support/network/listen";
import {
  anyDatabase,
  newDataDir,
  registerAt,
  type Service,
  startAndFail,
  startForTest,
} from "@/tests/support/process/service";

const GET_HEALTH = "GET /api/health HTTP/1.1\r\nHost: localhost\r\n\r\n";
const GET_VERSION = "GET /api/version HTTP/1.1\r\nHost: localhost\r\n\r\n";

/** The options of a Node process that runs a script before anything else. */
const importOf = (script: string) => `--import data:text/javascript,${encodeURIComponent(script)}`;

/** A request whose body is still being sent. */
function beginLogin(service: Service) {
  const body = JSON.stringify({ email: "nobody@example.com", password: "whatever" });
  const headers = { "content-type": "application/json", "content-length": body.length };
  const sent = request(`${service.url}/api/auth/login`, { method: "POST", headers });
  sent.write(body.slice(0, 10));
  const answered = once(sent, "response") as Promise<[IncomingMessage]>;
  return { finish: () => sent.end(body.slice(10)), answered, sent };
}

async function statusAndConnection([incoming]: [IncomingMessage]) {
  incoming.resume();
  await once(incoming, "end");
  return [incoming.statusCode, incoming.headers.connection];
}

async function openSocket(service: Service): Promise<Socket> {
  const socket = connect(Number(new URL(service.url).port), "127.0.0.1");
  await once(socket, "connect");
  return socket;
}

test("SIGTERM lets requests in progress finish, fails probes, refuses and closes connections, and ends with 0", async () => {
  const service = await startForTest();
  const unused = textUntilClose(await openSocket(service));
  const login = beginLogin(service);
  await once(login.sent, "socket");
  const probe = await openSocket(service);
  probe.write(GET_HEALTH.slice(0, -2)); // not idle, so it is not closed before its end
  await service.fetch("/api/health");
  const ended = service.end("SIGTERM");
  await expect.poll(() => service.output()).toContain("stopping");
  probe.write(GET_HEALTH.slice(-2));
  const { status, headers } = parseResponse(await textUntilClose(probe));
  expect([status, headers.connection]).toEqual([503, "close"]);
  await expect(openSocket(service)).rejects.toMatchObject({ code: "ECONNREFUSED" });
  login.finish();
  expect(await statusAndConnection(await login.answered)).toEqual([401, "close"]);
  expect(await ended).toBe(0);
  expect(await unused).toBe(""); // 408 if it were left to the time-out
});

test("with SHUTDOWN_DELAY_SECONDS, both probes fail while new connections are still served", async () => {
  const service = await startForTest({ SHUTDOWN_DELAY_SECONDS: "2", ...(await anyDatabase()) });
  const ended = service.end("SIGTERM");
  await expect.poll(() => service.output()).toContain("probes fail");
  const statuses = ["/api/health", "/api/health?probe=live", "/sign-in"].map(async (path) => {
    const response = await service.fetch(path);
    return [response.status, response.headers.get("connection")];
  });
  expect(await Promise.all(statuses)).toEqual([503, 503, 200].map((status) => [status, "close"]));
  expect(await ended).toBe(0);
});

test("npm passes the signal on and ends with the exit code of the service", async () => {
  const service = await startForTest(await anyDatabase(), "npm start");
  expect(await service.end("SIGTERM")).toBe(0);
  expect(service.output()).toContain("stopping");
});

test("in a sandbox that forbids thread priorities, registration works, and queued email is sent before the end", async () => {
  const received: string[] = [];
  const greets: (() => void)[] = [];
  const slow = new SMTPServer({
    authOptional: true,
    disabledCommands: ["STARTTLS"],
    onConnect: (_, greet) => void greets.push(greet),
    onRcptTo: ({ address }, _, done) => {
      received.push(address);
      done();
    },
    onData: (stream, _, done) => void stream.on("end", done).resume(),
  });
  const address = await listen(slow.server);
  const service = await startForTest({
    SMTP_URL: `smtp://${address}`,
    NODE_OPTIONS: importOf(`import os from "node:os"; import { syncBuiltinESMExports } from "node:module";
      os.setPriority = () => { throw new Error("EPERM"); }; syncBuiltinESMExports();`),
    ...(await anyDatabase()),
  });
  await registerAt(service, { email: "ann@example.com" });
  expect((await service.post("/api/auth/reset/request", { email: "ann@example.com" })).status).toBe(202);
  await expect.poll(() => greets.length).toBe(1);
  const ended = service.end("SIGTERM");
  await expect.poll(() => service.output()).toContain("stopping");
  for (const greet of greets) greet();
  expect(await ended).toBe(0);
  expect(received).toEqual(["ann@example.com"]);
  slow.close();
});

test("a second signal, a second or more after the first, ends at once", async () => {
  const service = await startForTest(await anyDatabase());
  const login = beginLogin(service);
  login.answered.catch(() => {}); // it is cut off, as it has to be
  login.sent.on("error", () => {});
  await once(login.sent, "socket");
  await service.fetch("/api/health");
  void service.end("SIGINT");
  await expect.poll(() => service.output()).toContain("stopping");
  const until = setInterval(() => service.pid && process.kill(service.pid, "SIGINT"), 100);
  expect(await service.end("SIGINT")).toBe(1); // once a second has passed
  clearInterval(until);
});

test.each<[string, Parameters<typeof startForTest>[1], (service: Service) => void]>([
  ["SIGTERM", "start", () => {}],
  // What a terminal and a control group do: npm passes on what the service has got already.
  ["SIGINT for the group of npm start", "npm start", ({ pid }) => process.kill(-Number(pid), "SIGINT")],
])("%s under load breaks no request on an established connection, accepted or not", async (_, script, signal) => {
  const service = await startForTest({ RATE_LIMITS: "off", ...(await anyDatabase()) }, script);
  const failures: unknown[] = [];
  const responding = new Set<number>();
  const clients = Array.from({ length: 16 }, async (_, client) => {
    for (;;) {
      try {
        await repeatRequests(await openSocket(service), () => responding.add(client));
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "ECONNREFUSED") failures.push(error);
        return;
      }
    }
  });
  await expect.poll(() => responding.size).toBe(clients.length);
  const sockets = await Promise.all(Array.from({ length: 24 }, () => openSocket(service)));
  // Rendering keeps the event loop from accepting.
  for (const socket of sockets) socket.write("GET /sign-in HTTP/1.1\r\nHost: localhost\r\n\r\n");
  const texts = Promise.all(sockets.map(textUntilClose));
  signal(service);
  expect(await service.end("SIGTERM")).toBe(0);
  expect((await texts).map((text) => parseResponse(text).status)).toEqual(Array(24).fill(200));
  await Promise.all(clients);
  expect(failures).toEqual([]);
});

/**
 * Sends requests until a response announces the end of the connection (RFC 9112, 9.6). The next request has begun before
 * a response arrives: the service may close an idle connection at any time. @throws Error if the connection ends without
 * an announcement
 */
async function repeatRequests(socket: Socket, onResponse: () => void): Promise<void> {
  socket.write(GET_VERSION + GET_VERSION[0]);
  let text = "";
  for await (const chunk of socket) {
    text += chunk;
    const { headers, body } = parseResponse(text);
    if (body.length < Number(headers["content-length"] ?? Infinity)) continue;
    JSON.parse(body);
    onResponse();
    if (headers.connection === "close") return;
    text = "";
    socket.write(GET_VERSION.slice(1) + GET_VERSION[0]);
  }
  throw new Error(`The connection was closed after ${JSON.stringify(text)}`);
}

async function textUntilClose(socket: Socket): Promise<string> {
  let text = "";
  socket.on("error", () => {});
  socket.on("data", (chunk) => {
    text += chunk;
  });
  await once(socket, "close");
  return text;
}

test("a port that is in use is reported in one line", async () => {
  const port = await freePort();
  const other = createServer().listen(port, "127.0.0.1");
  await once(other, "listening");
  const { code, output } = await startAndFail({
    PORT: String(port),
    DATA_DIR: await newDataDir(),
    NEXTAUTH_URL: `http://localhost:${port}`,
    NEXTAUTH_SECRET: "a-secret-for-tests-that-is-long-enough",
    ...(await anyDatabase()),
  });
  other.close();
  expect(code).toBe(1);
  expect(output).toContain(`Homeport cannot start: Port ${port} is in use. Set PORT to another one.`);
  expect(output).not.toMatch(/^\s+at /m);
});

// ASVS 16.3.4, 16.5.4
test("an unhandled rejection is logged and ends the process", async () => {
  const fail = "process.on('SIGUSR2', () => { void Promise.reject(new Error('unhandled')); })";
  const service = await startForTest({ NODE_OPTIONS: importOf(fail), ...(await anyDatabase()) });
  expect(await service.end("SIGUSR2")).toBe(1);
  expect(service.output()).toMatch(/"level":60.*unhandled/);
});
