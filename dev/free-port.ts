import { randomInt } from "node:crypto";
import { createServer } from "node:net";

// Below the ephemeral port ranges of Linux and macOS, so that no outgoing connection takes a port in the meantime.
const FIRST = 10_000;
const LAST = 32_000;

let next = randomInt(FIRST, LAST);

/** A port on 127.0.0.1 that nothing listens on. Two calls in a process return different ports. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = next;
    next = port === LAST ? FIRST : port + 1;
    if (await isFree(port)) return port;
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
  });
}
