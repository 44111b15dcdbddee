import { connect, createServer } from "node:net";
import { listen } from "@/tests/support/network/listen";

/** A TCP proxy in front of a server. `receivedBytes` counts what the server sent, HTTP headers included. */
export async function startCountingProxy(target: string) {
  const { hostname, port } = new URL(target);
  let receivedBytes = 0;
  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname);
    upstream.on("data", (chunk) => (receivedBytes += chunk.length));
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      one.on("error", () => other.destroy());
      one.pipe(other);
    }
  });
  return { url: `http://${await listen(server)}`, receivedBytes: () => receivedBytes, close: () => server.close() };
}
