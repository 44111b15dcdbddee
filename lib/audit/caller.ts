/**
 * The client that sent a request. `ip` is its IPv4 address, its IPv6 network (/64), or "unknown"; `client` is its user
 * agent, at most 256 characters; `deviceId` comes from its device cookie, or is new where it has none.
 */
export type Caller = { ip: string; client: string | null; deviceId: string };
