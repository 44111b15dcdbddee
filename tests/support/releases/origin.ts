import { once } from "node:events";
import { createServer, type IncomingMessage, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

export type Origin = {
  url: string;
  /** Every request so far. */
  asked: IncomingMessage[];
  /** From now on this answers. */
  answer: (listener: RequestListener) => void;
  close: () => Promise<void>;
};

/** An HTTP server on this machine that answers as a test wants, until the test ends. */
export async function startOrigin(first: RequestListener): Promise<Origin> {
  let listener = first;
  const asked: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    asked.push(request);
    listener(request, response);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const close = async () => {
    if (!server.listening) return;
    server.close();
    server.closeAllConnections();
    await once(server, "close");
  };
  onTestFinished(close);
  const answer = (next: RequestListener) => {
    listener = next;
  };
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked, answer, close };
}
