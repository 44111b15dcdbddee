import { once } from "node:events";
import { Agent, type IncomingMessage, request } from "node:http";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { SMTPServer } from "smtp-server";
import { expect, test } from "vitest";
import { freePort } from "@/tests/support/network/port";
import { newDataDir, type Service, startAndFail, startForTest } from "@/tests/support/process/service";

const JSON_TYPE = { "content-type": "application/json" };

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

/** GET over a connection that stays open where the server lets it. */
function getOver(agent: Agent, url: string): Promise<[IncomingMessage]> {
  const sent = request(url, { agent });
  sent.end();
  return once(sent, "response") as Promise<[IncomingMessage]>;
}

test("SIGTERM lets what is in flight finish, says so to probes, refuses what is new, and ends with 0", async () => {
  const service = await startForTest();
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  await statusAndConnection(await getOver(agent, `${service.url}/api/health`));
  const login = beginLogin(service);
  await once(login.sent, "socket");
  await service.fetch("/api/health");
  const ended = service.end("SIGTERM");
  await expect.poll(() => service.output()).toContain("stopping");
  const probe = await getOver(agent, `${service.url}/api/health`);
  expect(await statusAndConnection(probe)).toEqual([503, "close"]);
  const late = connect(Number(new URL(service.url).port), "127.0.0.1");
  await expect(once(late, "connect")).rejects.toMatchObject({ code: "ECONNREFUSED" });
  login.finish();
  expect(await statusAndConnection(await login.answered)).toEqual([401, "close"]);
  expect(await ended).toBe(0);
});

test("npm hands the signal on, and ends as the service does", async () => {
  const service = await startForTest({ BY_NPM: "yes" });
  expect(await service.end("SIGTERM")).toBe(0);
  expect(service.output()).toContain("stopping");
});

test("a connection that was never used does not hold up the end", async () => {
  const service = await startForTest();
  const spare = connect(Number(new URL(service.url).port), "127.0.0.1");
  await once(spare, "connect");
  let told = "";
  spare.on("error", () => {});
  spare.on("data", (chunk) => {
    told += chunk;
  });
  expect(await service.end("SIGTERM")).toBe(0);
  expect(told).toBe(""); // where it is left to the time-out it is told 408
});

test("mail that was promised is sent before the end", async () => {
  const received: string[] = [];
  const slow = new SMTPServer({
    authOptional: true,
    disabledCommands: ["STARTTLS"],
    onConnect: (_, greet) => void setTimeout(greet, 1_500),
    onRcptTo: ({ address }, _, done) => {
      received.push(address);
      done();
    },
    onData: (stream, _, done) => void stream.on("end", done).resume(),
  });
  slow.listen(0, "127.0.0.1");
  await once(slow.server, "listening");
  const service = await startForTest({ SMTP_URL: `smtp://127.0.0.1:${(slow.server.address() as AddressInfo).port}` });
  const post = (path: string, json: unknown) =>
    service.fetch(path, { method: "POST", headers: JSON_TYPE, body: JSON.stringify(json) });
  await post("/api/auth/register", { email: "ann@example.com", password: "a good long password" });
  expect((await post("/api/auth/reset/request", { email: "ann@example.com" })).status).toBe(202);
  expect(await service.end("SIGTERM")).toBe(0);
  expect(received).toEqual(["ann@example.com"]);
  slow.close();
});

test("a second signal ends at once", async () => {
  const service = await startForTest();
  const login = beginLogin(service);
  login.answered.catch(() => {}); // it is cut off, as it has to be
  login.sent.on("error", () => {});
  await once(login.sent, "socket");
  await service.fetch("/api/health");
  void service.end("SIGINT");
  await expect.poll(() => service.output()).toContain("stopping");
  expect(await service.end("SIGINT")).toBe(1);
});

test("SIGTERM under load breaks no request that was accepted", async () => {
  const service = await startForTest({ RATE_LIMITS: "off" });
  const failures: unknown[] = [];
  const answered = new Set<Agent>();
  const client = async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    for (;;) {
      const sent = request(`${service.url}/api/version`, { agent });
      sent.end();
      try {
        const [incoming] = (await once(sent, "response")) as [IncomingMessage];
        let body = "";
        for await (const chunk of incoming) body += chunk;
        JSON.parse(body);
        answered.add(agent);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "ECONNREFUSED") failures.push(error);
        return;
      }
    }
  };
  const clients = Array.from({ length: 16 }, client);
  await expect.poll(() => answered.size).toBe(clients.length);
  expect(await service.end("SIGTERM")).toBe(0);
  await Promise.all(clients);
  expect(failures).toEqual([]);
});

test("connections that were established before SIGTERM are answered, accepted or not", async () => {
  const service = await startForTest();
  const port = Number(new URL(service.url).port);
  const sockets = Array.from({ length: 24 }, () => connect(port, "127.0.0.1").on("error", () => {}));
  await Promise.all(sockets.map((socket) => once(socket, "connect")));
  // Rendering keeps the event loop from accepting.
  for (const socket of sockets) socket.write("GET /sign-in HTTP/1.1\r\nHost: localhost\r\n\r\n");
  const answers = Promise.all(sockets.map(firstLine));
  expect(await service.end("SIGTERM")).toBe(0);
  expect(await answers).toEqual(Array(24).fill("HTTP/1.1 200 OK"));
});

/** The first line of what comes until the connection closes. */
async function firstLine(socket: Socket): Promise<string | undefined> {
  let text = "";
  socket.on("data", (chunk) => {
    text += chunk;
  });
  await once(socket, "close");
  return text.split("\r\n")[0];
}

test("a port that is taken is told in one line", async () => {
  const port = await freePort();
  const other = createServer().listen(port, "127.0.0.1");
  await once(other, "listening");
  const { code, output } = await startAndFail({ PORT: String(port), DATA_DIR: await newDataDir() });
  other.close();
  expect(code).toBe(1);
  expect(output).toContain(`Homeport cannot start: Port ${port} is taken. Set PORT to another one.`);
  expect(output).not.toMatch(/^\s+at /m);
});

test("a promise that fails unseen is logged and ends the process", async () => {
  const fail = "process.on('SIGUSR2', () => { void Promise.reject(new Error('nobody looks')); })";
  const service = await startForTest({ NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(fail)}` });
  expect(await service.end("SIGUSR2")).toBe(1);
  expect(service.output()).toMatch(/"level":60.*nobody looks/);
});

test("a sandbox that refuses to change a thread's priority keeps nobody from signing in", async () => {
  const refuse = `import os from "node:os"; import { syncBuiltinESMExports } from "node:module";
    os.setPriority = () => { throw new Error("EPERM"); }; syncBuiltinESMExports();`;
  const service = await startForTest({ NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(refuse)}` });
  const body = JSON.stringify({ email: "ann@example.com", password: "a good long password" });
  const registered = await service.fetch("/api/auth/register", { method: "POST", headers: JSON_TYPE, body });
  expect(registered.status).toBe(201);
});
