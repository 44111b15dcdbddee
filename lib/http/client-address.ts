import { isIPv4, isIPv6 } from "node:net";
import type { Context } from "../context";
import type { RequestHead } from "./route-request";

/**
 * The address that stands for the caller: the socket's, or with `hops` trusted proxies the entry of
 * X-Forwarded-For that the outermost of them wrote, the n-th from the right. IPv6 is cut to its /64, since
 * one caller has a whole one; a port that some proxies add is cut off. "unknown" where nothing can be trusted: such callers share their limits.
 */
export function clientAddress(
  headers: RequestHead["headers"],
  socketAddress: string | undefined,
  hops: number,
): string {
  const forwarded = hops > 0 ? (headers.get("x-forwarded-for") ?? "").split(",").at(-hops)?.trim() : undefined;
  return network(hops > 0 ? forwarded : socketAddress) ?? "unknown";
}

/**
 * Hears of every request, and says once that one has X-Forwarded-For where no proxy is trusted: behind one, all clients
 * share its address in every limit.
 */
export function warnOfProxy({ config, log }: Pick<Context, "config" | "log">, observe: Context["observe"]) {
  if (config.TRUSTED_PROXY_HOPS > 0) return observe;
  let isSaid = false;
  return (...[record, request]: Parameters<Context["observe"]>) => {
    if (!isSaid && request?.headers.has("x-forwarded-for")) {
      isSaid = true;
      log.warn(
        "A request has X-Forwarded-For, and TRUSTED_PROXY_HOPS is 0. Behind a proxy, set it to the number of proxies: " +
          "until then all clients share one address in every limit. Without a proxy, the header is ignored.",
      );
    }
    observe(record, request);
  };
}

function network(address: string | undefined): string | null {
  if (!address) return null;
  const bare = /^\[(.+)\](?::\d+)?$/.exec(address)?.[1] ?? /^([\d.]+):\d+$/.exec(address)?.[1] ?? address;
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(bare)?.[1] ?? bare;
  if (isIPv4(mapped)) return mapped;
  return isIPv6(mapped) ? `${ipv6Groups(mapped).slice(0, 4).join(":")}::/64` : null;
}

/** The eight groups of an IPv6 address, without leading zeros. */
function ipv6Groups(address: string): string[] {
  const [head = "", tail] = (address.split("%", 1)[0] ?? "").toLowerCase().split("::");
  const left = head.split(":").filter(Boolean);
  const right = (tail ?? "").split(":").filter(Boolean);
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - left.length - right.length);
  return [...left, ...Array<string>(zeros).fill("0"), ...right].map((group) => group.replace(/^0+(?=.)/, ""));
}
