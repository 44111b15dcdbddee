import { AppError } from "../../errors";
import type { Config } from "../../platform/config";
import type { OAuthClient } from "../../platform/config/oauth-clients";

const LOOPBACK = /^http:\/\/(127\.0\.0\.1|\[::1\])(?::([1-9]\d{0,4}))?((?:[/?].*)?)$/;
const MAX_PORT = 65_535;

/** The configured client with an id. @throws AppError invalid_client */
export function findClient({ OAUTH_CLIENTS }: Pick<Config, "OAUTH_CLIENTS">, clientId: string): OAuthClient {
  const client = OAUTH_CLIENTS.find(({ id }) => id === clientId);
  if (!client) throw new AppError("invalid_client");
  return client;
}

/**
 * Whether a client has registered a redirect URI. Compares the text (RFC 9700, section 2.1). A loopback URI that is
 * registered without a port matches with any port, which the system chooses when the app starts (RFC 8252, section 7.3).
 */
export function isRegistered({ redirectUris }: OAuthClient, given: string): boolean {
  return redirectUris.some((registered) => given === registered || isLoopbackOf(registered, given));
}

function isLoopbackOf(registered: string, given: string): boolean {
  const [, host, port, rest] = LOOPBACK.exec(registered) ?? [];
  const [, givenHost, givenPort, givenRest] = LOOPBACK.exec(given) ?? [];
  return port === undefined && host === givenHost && rest === givenRest && Number(givenPort) <= MAX_PORT;
}
