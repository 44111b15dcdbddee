import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type RequestListener, request } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { baseUrlFrom, runCommandLine } from "../scripts/command-line";
import { freePort } from "./free-port";

const HELP = `Usage: npm run openapi:tour [-- BASE_URL]

Runs the tour against a running service (http://localhost:3000 unless BASE_URL is given) and has Prism validate every request
and response against public/openapi.json. \`npm run openapi:lint\` installs Prism.`;

const PRISM = "dev/openapi/tools/node_modules/.bin/prism";

let service: URL;

type TourRequest = { method: string; path: string; headers: IncomingHttpHeaders; body: Buffer };
type TourResponse = { status: number; raw: string[]; headers: IncomingHttpHeaders; body: Buffer };

/** The tour's requests and the service's responses, by X-Request-Id. */
const requests = new Map<string, TourRequest>();
const responses = new Map<string, TourResponse>();
const violations: string[] = [];

async function send({ hostname, port }: URL, { method, path, headers, body }: TourRequest): Promise<TourResponse> {
  const sent = request({ hostname, port, method, path, headers });
  sent.end(body);
  const [incoming] = await once(sent, "response");
  const { statusCode: status, rawHeaders: raw, headers: received } = incoming;
  return { status, raw, headers: received, body: await buffer(incoming) };
}

async function listen(listener: (sent: TourRequest) => Promise<TourResponse>): Promise<URL> {
  const respond: RequestListener = async (incoming, outgoing) => {
    const { method = "", url: path = "", headers } = incoming;
    const { status, raw, body } = await listener({ method, path, headers, body: await buffer(incoming) });
    outgoing.writeHead(status, raw).end(body);
  };
  const server = createServer(respond).listen(0, "127.0.0.1");
  await once(server, "listening");
  server.unref();
  return new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
}

/** Behind Prism: forwards the tour's request byte for byte. Prism does not see the headers of HEAD, so it expects no JSON. */
async function toService({ headers }: TourRequest): Promise<TourResponse> {
  const id = String(headers["x-request-id"]);
  const sent = requests.get(id);
  if (!sent) throw new Error(`Prism sent the unknown request ${id}`);
  const response = await send(service, {
    ...sent,
    headers: { ...sent.headers, host: service.host, "x-request-id": id },
  });
  responses.set(id, response);
  return sent.method === "HEAD" ? { ...response, raw: [] } : response;
}

/** In front of Prism: sends it the request to validate, and returns the service's own response. */
async function validate(prism: URL, sent: TourRequest): Promise<TourResponse> {
  const id = `tour-${requests.size + 1}`;
  requests.set(id, sent);
  const validation = await send(prism, { ...sent, headers: { ...sent.headers, "x-request-id": id } });
  const response = responses.get(id);
  if (response?.status === validation.status && !validation.headers["sl-violations"]) return response;
  violations.push(`${sent.method} ${sent.path}: ${validation.headers["sl-violations"] ?? validation.body}`);
  return response ?? validation;
}

/**
 * Prism stands between two servers: one forwards the tour's request, the other gives the tour the service's own response,
 * since Prism fails on HEAD and loses bytes of downloads and all but one Set-Cookie.
 */
async function main(args: string[]): Promise<void> {
  service = new URL(baseUrlFrom(args, "http://localhost:3000"));
  const behind = await listen(toService);
  const prism = new URL(`http://127.0.0.1:${await freePort()}`);
  const prismArgs = ["proxy", "--errors", "-p", prism.port, "public/openapi.json", behind.origin];
  const proxy = spawn(PRISM, prismArgs, { stdio: ["ignore", "pipe", "inherit"] });
  const stopped = once(proxy, "exit").then(() => false);
  const listening = new Promise<boolean>((resolve) => {
    proxy.stdout.on("data", (chunk: Buffer) => chunk.includes("Prism is listening") && resolve(true));
  });
  if (!(await Promise.race([listening, stopped]))) throw new Error("Prism did not start");
  const front = await listen((sent) => validate(prism, sent));
  const tour = spawn(process.execPath, ["--import", "tsx", "dev/tour.ts", front.origin], { stdio: "inherit" });
  const [code] = await once(tour, "exit");
  proxy.kill();
  console.log(violations.length > 0 ? violations.join("\n") : `Prism saw ${requests.size} requests and no violation.`);
  process.exitCode = violations.length > 0 || requests.size === 0 ? 1 : (code ?? 1);
}

await runCommandLine(HELP, main);
