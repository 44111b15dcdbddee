import type { ClientHttp2Session } from "node:http2";
import { Provider } from "@parse/node-apn";
import type { Notification } from "../push-transport";

/** Apple rejects provider tokens that are older than an hour. */
const TOKEN_LIFETIME_SECONDS = 55 * 60;

/** Credentials of token-based authentication, and where APNs is: Apple's hosts by default. `key` and `ca` are PEM. */
export type ApnsOptions = {
  key: string;
  keyId: string;
  teamId: string;
  host?: string;
  port?: number;
  ca?: string;
  timeoutMs?: number;
  /** Milliseconds on a monotonic clock. */
  elapsedMs?: () => number;
};

export function createClient(environment: Notification["environment"], options: ApnsOptions): ApnsClient {
  const { key, keyId, teamId, host, port, ca } = options;
  const provider = new Provider({
    token: { key, keyId, teamId },
    production: environment === "production",
    ...(host === undefined ? {} : { address: host }),
    ...(port === undefined ? {} : { port }),
    ...(ca === undefined ? {} : { ca: [ca] }),
  });
  const { client } = provider as unknown as { client: ApnsClient };
  // After GOAWAY node-apn would destroy the streams that APNs still responds to. close() waits for them.
  client.closeAndDestroySession = async (session) => session?.close();
  return client;
}

/** node-apn's client, which its types do not declare. */
export type ApnsClient = {
  config: { address: string; token: ProviderToken };
  session?: ClientHttp2Session;
  isDestroyed: boolean;
  connect: () => Promise<void>;
  closeAndDestroySession: (session?: ClientHttp2Session) => Promise<void>;
  shutdown: () => Promise<void>;
};
type ProviderToken = {
  /** The JSON Web Token. */
  current: string;
  generation: number;
  isExpired: (lifetimeSeconds: number) => boolean;
  /** Creates a new token, unless that generation has been replaced. */
  regenerate: (generation: number) => void;
};

/** Returns the connection. Opens one if there is none; the requests wait until it is open. */
export async function openSession(client: ApnsClient): Promise<ClientHttp2Session> {
  if (client.isDestroyed) throw new Error("the transport is closed");
  if (!client.session || client.session.closed || client.session.destroyed) await client.connect();
  if (!client.session) throw new Error("no connection");
  return client.session;
}

/** Renews the provider token before it expires. */
export function authorizationOf({ config: { token } }: ApnsClient): string {
  if (token.isExpired(TOKEN_LIFETIME_SECONDS)) token.regenerate(token.generation);
  return `bearer ${token.current}`;
}

/**
 * Closes the connection; its requests fail. Replacing the whole client would create a new provider token, of which APNs
 * accepts one every 20 minutes.
 */
export function closeSession(client: ApnsClient): void {
  client.session?.destroy(new Error("the connection was closed after time-outs"));
}
