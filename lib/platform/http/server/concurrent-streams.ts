import type { ServerResponse } from "node:http";
import { currentContext } from "../../../context";
import { AppError } from "../../../errors";
import { clientNetwork } from "../client-ip";

/** How many responses a process streams to one IP, or to one IPv6 network (/64), at a time. */
export const MAX_STREAMS_PER_IP = 100;
const RETRY_AFTER_SECONDS = 10;

/** How many responses are being streamed to each client network. */
const streams = new Map<string, number>();

/**
 * Counts a response as a stream to its client until it is closed. Behind a trusted proxy nothing is counted, because every
 * socket has the proxy's IP. @throws AppError rate_limited, if too many run
 */
export function admitStream(outgoing: ServerResponse, socketIp: string | undefined): void {
  const { RATE_LIMITS, TRUSTED_PROXY_HOPS } = currentContext().config;
  if (socketIp === undefined || TRUSTED_PROXY_HOPS > 0 || RATE_LIMITS === "off" || outgoing.closed) return;
  const network = clientNetwork(new Headers(), socketIp, 0);
  const count = streams.get(network) ?? 0;
  if (count >= MAX_STREAMS_PER_IP) throw tooManyStreams();
  streams.set(network, count + 1);
  outgoing.once("close", () => {
    const rest = (streams.get(network) ?? 1) - 1;
    if (rest > 0) streams.set(network, rest);
    else streams.delete(network);
  });
}

function tooManyStreams(): AppError {
  return new AppError("rate_limited", {
    detail: `At most ${MAX_STREAMS_PER_IP} downloads to one IP run at a time.`,
    retryAfterSeconds: RETRY_AFTER_SECONDS,
    headers: {
      "RateLimit-Policy": `"streamsByIp";q=${MAX_STREAMS_PER_IP};qu="concurrent-requests"`,
      RateLimit: '"streamsByIp";r=0',
    },
  });
}
