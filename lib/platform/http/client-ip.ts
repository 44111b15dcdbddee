import { isIPv4, isIPv6 } from "node:net";
import type { Context } from "../../context";
import type { ReadableHeaders } from "../http-message";

/**
 * The client's IP: the socket's, or with `hops` trusted proxies the entry that the outermost of them added to
 * X-Forwarded-For, the n-th from the right. "unknown" if there is no valid IP.
 */
export function clientIp(headers: ReadableHeaders, socketIp: string | undefined, hops: number): string {
  const forwarded = hops > 0 ? (headers.get("x-forwarded-for") ?? "").split(",").at(-hops)?.trim() : undefined;
  return normalizeIp(hops > 0 ? forwarded : socketIp) ?? "unknown";
}

/**
 * What identifies the client to limits and logs: its IPv4 address, or the /64 of its IPv6 address, because one client has a
 * whole /64. Clients whose IP is "unknown" share their limits.
 */
export function clientNetwork(headers: ReadableHeaders, socketIp: string | undefined, hops: number): string {
  const ip = clientIp(headers, socketIp, hops);
  return isIPv6(ip) ? `${ipv6Groups(ip).slice(0, 4).join(":")}::/64` : ip;
}

/** Wraps `observe` so that it warns once if a request has X-Forwarded-For although no proxy is trusted. */
export function withProxyWarning({ config, log }: Pick<Context, "config" | "log">, observe: Context["observe"]) {
  if (config.TRUSTED_PROXY_HOPS > 0) return observe;
  let hasWarned = false;
  return (...[record, request]: Parameters<Context["observe"]>) => {
    if (!hasWarned && request?.headers.has("x-forwarded-for")) {
      hasWarned = true;
      log.warn(
        "A request has X-Forwarded-For, but TRUSTED_PROXY_HOPS is 0. Behind proxies, set it to their number: " +
          "until then all clients share one IP in every rate limit. Without a proxy, the header is ignored.",
      );
    }
    observe(record, request);
  };
}

function normalizeIp(ip: string | undefined): string | null {
  if (!ip) return null;
  const bare = /^\[(.+)\](?::\d+)?$/.exec(ip)?.[1] ?? /^([\d.]+):\d+$/.exec(ip)?.[1] ?? ip;
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(bare)?.[1] ?? bare;
  return isIPv4(mapped) || isIPv6(mapped) ? mapped : null;
}

/** The eight groups of an IPv6 address, without leading zeros. */
function ipv6Groups(ip: string): string[] {
  const [head = "", tail] = (ip.split("%", 1)[0] ?? "").toLowerCase().split("::");
  const left = head.split(":").filter(Boolean);
  const right = (tail ?? "").split(":").filter(Boolean);
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - left.length - right.length);
  return [...left, ...Array<string>(zeros).fill("0"), ...right].map((group) => group.replace(/^0+(?=.)/, ""));
}
