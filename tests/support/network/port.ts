import { randomInt } from "node:crypto";
import { createServer } from "node:net";

// Below the ports that systems give to port 0 and to outgoing connections, so that none of those takes it meanwhile.
const FIRST = 10_000;
const LAST = 32_000;

let next = randomInt(FIRST, LAST);

/** A port of the loopback address that nothing listens on. Two calls never give the same one. */
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
