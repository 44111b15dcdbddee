import { randomInt } from "node:crypto";
import { createServer, type Server } from "node:net";
import pLimit from "p-limit";

// Below the ephemeral port ranges of Linux and macOS, so that no outgoing connection takes a port in the meantime.
const FIRST = 10_000;
const LAST = 32_000;
const BLOCK = 100;

let next = 0;
let end = 0;
const inTurn = pLimit(1);

/** A port on 127.0.0.1 that nothing listens on, and that no other call returns, whatever process makes it. */
export const freePort = (): Promise<number> => inTurn(findPort);

async function findPort(): Promise<number> {
  for (;;) {
    if (next === end) await takeBlock();
    const port = next++;
    const server = await listen(port);
    if (!server) continue;
    await new Promise((resolve) => server.close(resolve));
    return port;
  }
}

/** Takes the ports of a block for this process, which listens on the first one until it ends. */
async function takeBlock(): Promise<void> {
  for (;;) {
    const first = FIRST + BLOCK * randomInt((LAST - FIRST) / BLOCK);
    const server = await listen(first);
    if (!server) continue;
    server.unref();
    next = first + 1;
    end = first + BLOCK;
    return;
  }
}

/** Listens on a port; null if another server does. */
function listen(port: number): Promise<Server | null> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(null));
    server.listen(port, "127.0.0.1", () => resolve(server));
  });
}
