import { BlockList, isIP } from "node:net";
import { z } from "zod";

const FAMILIES = { 4: "ipv4", 6: "ipv6" } as const;
const PREFIX_BITS = { 4: 32, 6: 128 } as const;

/** An IPv4 or IPv6 network in CIDR notation. An IP without a prefix is a network of one. */
export const Network = z
  .string()
  .max(64)
  .transform((text, context): string => {
    const [, ip = "", prefix] = /^([^/%]+)(?:\/(\d{1,3}))?$/.exec(text.trim().toLowerCase()) ?? [];
    const version = isIP(ip) as 0 | 4 | 6;
    if (version !== 0 && Number(prefix ?? 0) <= PREFIX_BITS[version]) {
      return `${ip}/${Number(prefix ?? PREFIX_BITS[version])}`;
    }
    context.addIssue({ code: "custom", message: "Must be a network such as 203.0.113.0/24 or 2001:db8::/32" });
    return z.NEVER;
  });

/** Whether an IP, with or without a zone, is in one of the networks. */
export function isInNetworks(given: string, networks: readonly string[]): boolean {
  const ip = given.replace(/%.*/, "");
  const version = isIP(ip) as 0 | 4 | 6;
  if (version === 0) return false;
  const list = new BlockList();
  for (const network of networks) {
    const [start = "", prefix] = network.split("/");
    list.addSubnet(start, Number(prefix), FAMILIES[isIP(start) as 4 | 6]);
  }
  return list.check(ip, FAMILIES[version]);
}
