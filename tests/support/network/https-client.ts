import { once } from "node:events";
import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import { Agent, request } from "node:https";

export type Answered = {
  status: number;
  headers: IncomingHttpHeaders;
  body: Buffer;
  json: () => Record<string, unknown>;
};
type Sent = { method?: string; headers?: Record<string, string>; body?: string };

/** A client of a proxy on this machine: it has an address of its own, and keeps one connection. */
export function newClient(port: number, localAddress = "127.0.0.1") {
  const agent = new Agent({ keepAlive: true, maxSockets: 1, rejectUnauthorized: false });
  let connections = 0;
  const ask = async (path: string, { method = "GET", headers = {}, body }: Sent = {}): Promise<Answered> => {
    const options = {
      agent,
      host: "127.0.0.1",
      port,
      localAddress,
      path,
      method,
      headers: { host: "localhost", ...headers },
    };
    const sent = request({ ...options, servername: "localhost" });
    sent.on("socket", () => {
      if (!sent.reusedSocket) connections += 1;
    });
    sent.end(body);
    const [answer] = (await once(sent, "response")) as [IncomingMessage];
    const chunks: Buffer[] = [];
    for await (const chunk of answer) chunks.push(chunk);
    const bytes = Buffer.concat(chunks);
    return {
      status: answer.statusCode ?? 0,
      headers: answer.headers,
      body: bytes,
      json: () => JSON.parse(bytes.toString()),
    };
  };
  return { ask, connections: () => connections, close: () => agent.destroy() };
}
