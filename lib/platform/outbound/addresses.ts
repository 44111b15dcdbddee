import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import { isInNetworks } from "../config/networks";

/**
 * The networks that no public host is in (IANA, "Special-Purpose Address Registries"), and those that embed an IPv4
 * address of any kind: NAT64, 6to4, Teredo and SIIT. A mapped IPv4 address is checked as itself.
 */
const NOT_PUBLIC = [
  "0.0.0.0/8",
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  "169.254.0.0/16",
  "172.16.0.0/12",
  "192.0.0.0/24",
  "192.0.2.0/24",
  "192.88.99.0/24",
  "192.168.0.0/16",
  "198.18.0.0/15",
  "198.51.100.0/24",
  "203.0.113.0/24",
  "224.0.0.0/4",
  "240.0.0.0/4",
  "::/96",
  "::ffff:0:0:0/96",
  "64:ff9b::/96",
  "64:ff9b:1::/48",
  "100::/64",
  "2001::/23",
  "2001:db8::/32",
  "2002::/16",
  "3fff::/20",
  "5f00::/16",
  "fc00::/7",
  "fe80::/10",
  "fec0::/10",
  "ff00::/8",
];
export const LOOPBACK_NETWORKS = ["127.0.0.0/8", "::1/128"];

/** Which addresses requests may go to besides public ones, as networks. HTTP without TLS is for those alone. */
export type AllowedNetworks = readonly string[];

/** Why a URL must not be sent to. */
class RefusedAddress extends Error {
  override readonly name = "RefusedAddress";
}

/** Whether requests may go to an address. */
export function isAllowedAddress(address: string, protocol: string, allowed: AllowedNetworks): boolean {
  if (isInNetworks(address, allowed)) return true;
  return protocol === "https:" && isIP(address) !== 0 && !isInNetworks(address, NOT_PUBLIC);
}

/** Why requests can never go to a URL; null if that depends on what its host resolves to. */
export function findUrlFault({ protocol, hostname }: URL, allowed: AllowedNetworks): string | null {
  const host = hostOf(hostname);
  const isHttp = protocol === "http:";
  if (isHttp && allowed.length === 0) return "Must be an https URL";
  if (isIP(host) === 0 || isAllowedAddress(host, protocol, allowed)) return null;
  return isHttp ? "Must be an https URL" : "Must have a public address";
}

/** A URL's host as DNS and sockets take it: IPv6 without brackets. */
export const hostOf = (hostname: string): string => hostname.replace(/^\[|\]$/g, "");

/**
 * Resolves a URL's host, for a connection to exactly this address: resolving it again could give another one ("DNS
 * rebinding"). @throws RefusedAddress if one of its addresses is not allowed; Error if it has none
 */
export async function resolveAddress(
  { protocol, hostname }: URL,
  allowed: AllowedNetworks,
): Promise<{ address: string; family: number }> {
  const addresses = await lookup(hostOf(hostname), { all: true });
  const refused = addresses.find(({ address }) => !isAllowedAddress(address, protocol, allowed));
  if (refused) throw new RefusedAddress(`${refused.address} is not an address that requests may go to`);
  const [first] = addresses;
  if (!first) throw new Error(`${hostname} has no address`);
  return first;
}
