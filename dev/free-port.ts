import { randomInt } from "node:crypto";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { createServer } from "node:net";

// Below the ephemeral port ranges of Linux and macOS, so that no outgoing connection takes a port in the meantime.
const FIRST = 10_000;
const LAST = 32_000;

let next = randomInt(FIRST, LAST);

/** A port on 127.0.0.1 that nothing listens on, and that no other call returns while this process runs. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = next;
    next = port === LAST ? FIRST : port + 1;
    if ((await claim(port)) && (await isFree(port))) return port;
  }
}

/** Takes the UDP port of the same number until this process ends, so that no other process returns it. */
async function claim(port: number): Promise<boolean> {
  const socket = createSocket("udp4").unref();
  try {
    socket.bind(port, "127.0.0.1");
    await once(socket, "listening");
    return true;
  } catch {
    socket.close();
    return false;
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
  });
}
