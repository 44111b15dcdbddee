import { once } from "node:events";
import { type AddressInfo, connect, createServer } from "node:net";

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
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    receivedBytes: () => receivedBytes,
    close: () => server.close(),
  };
}
