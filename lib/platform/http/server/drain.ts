import type { Server } from "node:http";
import { type Socket, Server as SocketServer } from "node:net";
import { setImmediate as nextTurn } from "node:timers/promises";

/** The length of the kernel's accept queue, as `server.listen` sets it. */
const MAX_BACKLOG = 511;
/** How long an idle connection stays open: its client may have sent a request already. */
const LINGER_MS = 1_000;
const SWEEP_INTERVAL_MS = 100;

/** Stops listening, calls `onListenerClosed`, then waits until every connection is closed. */
export type Drain = (onListenerClosed: () => void) => Promise<void>;

/** Prepares a server for being stopped without a broken request. */
export function createDrain(server: Server): Drain {
  const sockets = new Set<Socket>();
  server.on("connection", (socket) => sockets.add(socket.once("close", () => sockets.delete(socket))));
  return async (onListenerClosed) => {
    await acceptPending(server);
    // Not the HTTP server's own close: it closes idle connections at once, with requests that are arriving on them.
    const closed = new Promise<void>((resolve) => SocketServer.prototype.close.call(server, () => resolve()));
    onListenerClosed();
    let sweep: NodeJS.Timeout | undefined;
    const linger = setTimeout(() => {
      sweep = setInterval(() => closeIdle(server, sockets), SWEEP_INTERVAL_MS);
    }, LINGER_MS);
    await closed;
    clearTimeout(linger);
    clearInterval(sweep);
  };
}

/**
 * Accepts the connections that the kernel has established, which it would reset on close. libuv accepts one in each
 * turn of the event loop; ends after a turn without one.
 */
async function acceptPending(server: Server): Promise<void> {
  let hasAccepted = true;
  server.on("connection", () => {
    hasAccepted = true;
  });
  await nextTurn(); // the turn of the signal itself
  for (let turns = 0; hasAccepted && turns < MAX_BACKLOG; turns++) {
    hasAccepted = false;
    await nextTurn();
  }
}

function closeIdle(server: Server, sockets: ReadonlySet<Socket>): void {
  for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy(); // never used
  // Node treats a connection as idle once its response has ended, even if it has not been sent yet.
  const isSending = [...sockets].some((socket) => socket.writableLength > 0);
  if (!isSending) server.closeIdleConnections();
}
