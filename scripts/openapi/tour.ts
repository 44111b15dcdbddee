import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type RequestListener, request } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { baseUrlFrom, runCommandLine } from "../command-line";

const HELP = `Usage: npm run openapi:tour [-- BASE_URL]

Plays the tour against a running service (http://localhost:3000 unless BASE_URL is given) and has Prism check every request
and response against public/openapi.json. \`npm run openapi:lint\` installs Prism.`;

const PRISM = "scripts/openapi/tools/node_modules/.bin/prism";

let service: URL;

type Sent = { method: string; path: string; headers: IncomingHttpHeaders; body: Buffer };
type Answer = { status: number; raw: string[]; headers: IncomingHttpHeaders; body: Buffer };

/** What the tour asked and what the service answered, by X-Request-Id. */
const asked = new Map<string, Sent>();
const answered = new Map<string, Answer>();
const violations: string[] = [];

async function ask({ hostname, port }: URL, { method, path, headers, body }: Sent): Promise<Answer> {
  const sent = request({ hostname, port, method, path, headers });
  sent.end(body);
  const [incoming] = await once(sent, "response");
  const { statusCode: status, rawHeaders: raw, headers: told } = incoming;
  return { status, raw, headers: told, body: await buffer(incoming) };
}

async function listen(listener: (sent: Sent) => Promise<Answer>): Promise<URL> {
  const answer: RequestListener = async (incoming, outgoing) => {
    const { method = "", url: path = "", headers } = incoming;
    const { status, raw, body } = await listener({ method, path, headers, body: await buffer(incoming) });
    outgoing.writeHead(status, raw).end(body);
  };
  const server = createServer(answer).listen(0, "127.0.0.1");
  await once(server, "listening");
  server.unref();
  return new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
}

/** Behind Prism: sends on what the tour sent, byte for byte. Prism is told that a HEAD has no JSON. */
async function toService({ headers }: Sent): Promise<Answer> {
  const id = String(headers["x-request-id"]);
  const sent = asked.get(id);
  if (!sent) throw new Error(`Prism made ${id} up`);
  const answer = await ask(service, { ...sent, headers: { ...sent.headers, host: service.host, "x-request-id": id } });
  answered.set(id, answer);
  return sent.method === "HEAD" ? { ...answer, raw: [] } : answer;
}

/** Before Prism: has it judge, and answers with what the service said. */
async function judged(prism: URL, sent: Sent): Promise<Answer> {
  const id = `tour-${asked.size + 1}`;
  asked.set(id, sent);
  const judgement = await ask(prism, { ...sent, headers: { ...sent.headers, "x-request-id": id } });
  const answer = answered.get(id);
  if (answer?.status === judgement.status && !judgement.headers["sl-violations"]) return answer;
  violations.push(`${sent.method} ${sent.path}: ${judgement.headers["sl-violations"] ?? judgement.body}`);
  return answer ?? judgement;
}

/**
 * Prism stands between two servers: one sends on what the tour sent, the other gives the tour the service's own response,
 * since Prism fails on HEAD and loses bytes of downloads and all but one Set-Cookie.
 */
async function main(args: string[]): Promise<void> {
  service = new URL(baseUrlFrom(args, "http://localhost:3000"));
  const behind = await listen(toService);
  const free = createServer().listen(0, "127.0.0.1");
  await once(free, "listening");
  const prism = new URL(`http://127.0.0.1:${(free.address() as AddressInfo).port}`);
  await once(free.close(), "close");
  const prismArgs = ["proxy", "--errors", "-p", prism.port, "public/openapi.json", behind.origin];
  const proxy = spawn(PRISM, prismArgs, { stdio: ["ignore", "pipe", "inherit"] });
  const stopped = once(proxy, "exit").then(() => false);
  const listening = new Promise<boolean>((resolve) => {
    proxy.stdout.on("data", (chunk: Buffer) => chunk.includes("Prism is listening") && resolve(true));
  });
  if (!(await Promise.race([listening, stopped]))) throw new Error("Prism did not start");
  const front = await listen((sent) => judged(prism, sent));
  const tour = spawn(process.execPath, ["--import", "tsx", "scripts/tour.ts", front.origin], { stdio: "inherit" });
  const [code] = await once(tour, "exit");
  proxy.kill();
  console.log(violations.length > 0 ? violations.join("\n") : `Prism saw ${asked.size} requests, and no violation.`);
  process.exitCode = violations.length > 0 || asked.size === 0 ? 1 : (code ?? 1);
}

await runCommandLine(HELP, main);
