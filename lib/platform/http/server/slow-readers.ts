import type { Server } from "node:http";
import type { Socket } from "node:net";
import { currentContext } from "../../../context";

/** What a client must read of a response that waits for it, unless a proxy is between them. */
export const MIN_READ_BYTES_PER_SECOND = 1024;
const SWEEP_INTERVAL_MS = 1_000;

/** How much of a connection's responses the system had taken at a time. */
type Progress = { sentBytes: number; atMs: number };
/** The parts of Node's socket that count what the system has taken. Its own timeout uses them, too. */
type Counters = { _handle?: { bytesWritten: number; writeQueueSize: number } | null };

/**
 * Closes connections whose clients read nothing for `timeoutMs` although a response waits for them, or less than
 * `minBytesPerSecond` in that time. Node's own timeout takes twice as long, because it first notices that the last write
 * has progressed. A trusted proxy reads as fast as its client, which it limits itself: only reading nothing counts.
 */
export function closeSlowReaders(server: Server, timeoutMs: number, minBytesPerSecond: number): void {
  const waiting = new Map<Socket, Progress | undefined>();
  server.on("connection", (socket) => {
    waiting.set(socket, undefined);
    socket.once("close", () => waiting.delete(socket));
  });
  const sweep = () => {
    const isDirect = currentContext().config.TRUSTED_PROXY_HOPS === 0;
    const minBytes = isDirect ? (minBytesPerSecond * timeoutMs) / 1000 : 1;
    const nowMs = performance.now();
    for (const [socket, since] of waiting) {
      const progress = { sentBytes: sentBytesOf(socket), atMs: nowMs };
      if (socket.writableLength === 0) waiting.set(socket, undefined);
      else if (!since || progress.sentBytes - since.sentBytes >= minBytes) waiting.set(socket, progress);
      else if (nowMs - since.atMs >= timeoutMs) socket.destroy();
    }
  };
  const timer = setInterval(sweep, SWEEP_INTERVAL_MS).unref();
  server.once("close", () => clearInterval(timer));
}

function sentBytesOf(socket: Socket): number {
  const { _handle: handle } = socket as Counters;
  return handle ? handle.bytesWritten - handle.writeQueueSize : 0;
}
